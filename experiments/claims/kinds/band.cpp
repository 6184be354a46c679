#include "experiments/claims/kinds/band.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/claims/case.h"
#include "experiments/claims/number.h"
#include "experiments/toml/reader.h"

namespace headroom::experiments {
namespace {

/// The smallest number of seeds of any point.
size_t fewest_seeds(const Curve& curve) {
  size_t fewest = curve.points.front().values.size();
  for (const Point& p : curve.points) fewest = std::min(fewest, p.values.size());
  return fewest;
}

/// "[2, 3]", "at least 2", "at most 3".
std::string claimed_limits(const Limits& limits) {
  if (limits.low && limits.high) return interval(limits);
  return limits.low ? fmt::format("at least {}", exact(*limits.low)) : fmt::format("at most {}", exact(*limits.high));
}

}  // namespace

void Band::read(Reader& in, const ClaimScope&) {
  factor = read_factor(in, factor);
  limits = read_limits(in);
}

std::optional<MissingKey> Band::missing(const ClaimConfig&) const {
  if (!limits.any() && !(factor > 1)) return MissingKey{"low", "low, high or factor: the band"};
  return std::nullopt;
}

std::string Band::details() const {
  return (limits.any() ? " " + interval(limits) : "") + (factor > 1 ? " max/min ≤ " + exact(factor) : "");
}

void Band::judge(const Case& c, Verdict& verdict) const {
  double smallest = INFINITY, largest = -INFINITY;
  for (const Point& p : c.curve.points) {
    for (const auto& entry : p.values) {
      smallest = std::min(smallest, entry.second);
      largest = std::max(largest, entry.second);
    }
  }
  const double ratio = largest / smallest;
  const size_t seeds = fewest_seeds(c.curve);
  verdict.numbers = {{"least", smallest}, {"most", largest}, {"ratio", ratio}, {"seeds", static_cast<double>(seeds)}};
  const std::string from = rounded_beside(smallest, limits.low), to = rounded_beside(largest, limits.high);
  verdict.summary = fmt::format("{} … {}", from, to);
  const bool outside = (limits.low && smallest < *limits.low) || (limits.high && largest > *limits.high);
  const bool wide = factor > 1 && !(smallest > 0 && ratio <= factor);
  // What is claimed of the values decides what is measured: their upper limit, their lower one, or their spread.
  verdict.measured = limits.high ? largest : limits.low ? smallest : ratio;
  std::string claimed;
  if (limits.low || limits.high) claimed = claimed_limits(limits);
  if (factor > 1)
    claimed += fmt::format("{}at most {} times from the smallest to the largest", claimed.empty() ? "" : ", and ",
                           exact(factor));
  const std::string apart = smallest > 0 ? fmt::format(", {} times apart", rounded(ratio)) : "";
  verdict.sentence = smallest == largest
                         ? fmt::format("All values are {}; {} was claimed.", limits.high ? to : from, claimed)
                         : fmt::format("Values lie between {} and {}{}; {} was claimed.", from, to, apart, claimed);
  verdict.status = outside || wide ? VerdictStatus::fail : VerdictStatus::pass;
  if (verdict.status == VerdictStatus::pass && seeds < c.wanted_seeds()) too_few_seeds(c, verdict, seeds);
}

}  // namespace headroom::experiments
