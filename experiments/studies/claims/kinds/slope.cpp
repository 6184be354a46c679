#include "experiments/studies/claims/kinds/slope.h"

#include <fmt/format.h>

#include <cmath>

#include "experiments/output/number.h"
#include "experiments/studies/claims/case.h"
#include "experiments/studies/claims/claim_scope.h"
#include "experiments/studies/claims/statistics.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

/// Why a curve has no slope on those axes; "" when it has.
std::string obstacle(const Case& c, bool log_x, bool log_y) {
  for (const Point& p : c.curve.points) {
    if (log_x && !(p.x > 0)) return fmt::format("{} has no logarithm", c.at(p));
    for (const auto& [seed, value] : p.values)
      if (log_y && !(value > 0))
        return fmt::format("at {} seed {} has {}, which has no logarithm", c.at(p), seed, rounded(value));
  }
  return c.curve.points.size() < 3 ? fmt::format("a slope needs 3 values of {}", c.axis) : "";
}

}  // namespace

void Slope::read(Reader& in, const ClaimScope& scope) {
  axes = in.word("axes", axes, {"log-log", "semi-log", "linear"}, "logarithms of x and y, of x alone, of none");
  limits = read_limits(in);
  scope.check_count(in, 3, "a slope");
  if (const auto x = scope.x(); axes != "linear" && !x.empty() && !(x.front() > 0))
    in.complain("axes",
                fmt::format("{} = {} has no logarithm: \"linear\" takes none", scope.x_name(), exact(x.front())));
}

std::optional<MissingKey> Slope::missing(const ClaimConfig&) const {
  if (!limits.any()) return MissingKey{"low", "low, high or both: the interval that is claimed"};
  return std::nullopt;
}

std::string Slope::details() const { return " " + interval(limits); }

Estimate Slope::estimate(const Case& c) const {
  std::vector<double> x;
  for (const Point& p : c.curve.points) x.push_back(axes == "linear" ? p.x : std::log(p.x));
  const int exponent = common_exponent(x);
  x = scaled(x, -exponent);
  const double middle = mean(x);
  double squares = 0;
  for (const double value : x) squares += (value - middle) * (value - middle);
  Terms terms;  // the slope is a weighted sum of the values
  for (size_t i = 0; i < x.size(); ++i)
    terms.emplace_back(&c.curve.points[i], std::scalbn((x[i] - middle) / squares, -exponent));
  return c.combine(terms, axes == "log-log");
}

Hypothesis Slope::hypothesis(const Case& c) const {
  const Estimate slope = estimate(c);
  std::vector<Hypothesis> sides;
  if (limits.low) sides.push_back(Hypothesis::at_least(slope, *limits.low));
  if (limits.high) sides.push_back(Hypothesis::at_most(slope, *limits.high));
  return Hypothesis::all_of(std::move(sides));
}

std::optional<Hypothesis> Slope::judge(const Case& c, Verdict& verdict) const {
  if (const std::string reason = obstacle(c, axes != "linear", axes == "log-log"); !reason.empty()) {
    not_run(verdict, reason);
    return std::nullopt;
  }
  const ConfidenceInterval slope = c.interval("slope", estimate(c));
  Hypothesis says = hypothesis(c);
  verdict.numbers = {{"slope", slope.value},
                     {"points", static_cast<double>(c.curve.points.size())},
                     {"seeds", says.seeds().value_or(1)}};
  verdict.intervals = {slope};
  verdict.measured = slope.value;
  const std::string text =
      std::isnan(slope.low) ? rounded(slope.value)
                            : fmt::format("{} [{}, {}]", rounded(slope.value), rounded(slope.low), rounded(slope.high));
  verdict.summary = text;
  verdict.found = fmt::format("the slope of {} on {} ({}) is {}", c.curve.metric, c.axis, axes, text);
  verdict.claimed = "within " + interval(limits);
  return says;
}

}  // namespace headroom::experiments
