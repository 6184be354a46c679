// Claims about values themselves: within limits, below others, below a bound, near a number.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/claims/case.h"
#include "experiments/claims/number.h"
#include "experiments/claims/overlay.h"

namespace headroom::experiments {
namespace {

/// The smallest number of seeds of any point.
size_t fewest_seeds(const Curve& curve) {
  size_t fewest = curve.points.front().values.size();
  for (const Point& p : curve.points) fewest = std::min(fewest, p.values.size());
  return fewest;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// "[2, 3]", "at least 2", "at most 3".
std::string limits(const ClaimConfig& claim) {
  if (claim.low && claim.high) return fmt::format("[{}, {}]", exact(*claim.low), exact(*claim.high));
  return claim.low ? fmt::format("at least {}", exact(*claim.low)) : fmt::format("at most {}", exact(*claim.high));
}

}  // namespace

void judge_band(const Case& c, Verdict& verdict) {
  double least = INFINITY, most = -INFINITY;
  for (const Point& p : c.curve.points) {
    for (const auto& entry : p.values) {
      least = std::min(least, entry.second);
      most = std::max(most, entry.second);
    }
  }
  const double ratio = most / least;
  const size_t seeds = fewest_seeds(c.curve);
  verdict.numbers = {{"least", least}, {"most", most}, {"ratio", ratio}, {"seeds", static_cast<double>(seeds)}};
  const std::string from = rounded_beside(least, c.claim.low), to = rounded_beside(most, c.claim.high);
  verdict.summary = fmt::format("{} … {}", from, to);
  const bool outside = (c.claim.low && least < *c.claim.low) || (c.claim.high && most > *c.claim.high);
  const bool wide = c.claim.factor > 1 && !(least > 0 && ratio <= c.claim.factor);
  // What is claimed of the values decides what is measured: their upper limit, their lower one, or their spread.
  verdict.measured = c.claim.high ? most : c.claim.low ? least : ratio;
  std::string claimed;
  if (c.claim.low || c.claim.high) claimed = limits(c.claim);
  if (c.claim.factor > 1)
    claimed += fmt::format("{}at most {} times from the smallest to the largest", claimed.empty() ? "" : ", and ",
                           exact(c.claim.factor));
  const std::string apart = least > 0 ? fmt::format(", {} times apart", rounded(ratio)) : "";
  verdict.sentence = least == most
                         ? fmt::format("All values are {}; {} was claimed.", c.claim.high ? to : from, claimed)
                         : fmt::format("Values lie between {} and {}{}; {} was claimed.", from, to, apart, claimed);
  verdict.status = outside || wide ? VerdictStatus::fail : VerdictStatus::pass;
  if (verdict.status == VerdictStatus::pass && seeds < c.wanted_seeds()) underpowered(c, verdict, seeds);
}

void judge_less_than(const Case& c, Verdict& verdict) {
  const ClaimRival& than = c.claim.than;
  const Curve other = curve_in_range(c.results, than.series.empty() ? c.curve.series : than.series,
                                     than.metric.empty() ? c.curve.metric : than.metric, c.claim);
  std::vector<std::pair<const Point*, const Point*>> pairs;
  for (const Point& p : c.curve.points) {
    if (c.claim.at && p.x != *c.claim.at) continue;
    if (const Point* rival = other.at(than.at.value_or(p.x))) pairs.emplace_back(&p, rival);
  }
  if (pairs.empty()) return not_run(verdict, fmt::format("there is no {} at which both were measured", c.axis));
  double worst_p = 0, worst_ratio = -INFINITY;
  int seeds = pairs[0].first->values.empty() ? 0 : static_cast<int>(pairs[0].first->values.size());
  std::string against;
  // Without noise there is no test: its p is 0 or 1, and says nothing.
  const auto with_p = [&](const char* form, double p) {
    return c.claim.deterministic ? std::string() : fmt::format(fmt::runtime(form), probability(p));
  };
  for (const auto& [left, right] : pairs) {
    const PairedTest test = c.larger(*right, *left);
    const double ratio = c.value(*left) / c.value(*right);
    seeds = std::min(seeds, test.pairs);
    if (!(test.p <= worst_p)) worst_p = test.p;
    if (!(ratio <= worst_ratio)) worst_ratio = ratio;
    const bool enough = c.claim.factor <= 1 || c.value(*left) * c.claim.factor <= c.value(*right);
    if (c.significant(test.p) && enough) continue;
    against += fmt::format("at {} {} against {}{}; ", c.at(*left), rounded(c.value(*left)), rounded(c.value(*right)),
                           with_p(" (p = {})", test.p));
  }
  verdict.numbers = {
      {"ratio", worst_ratio}, {"p", worst_p}, {"seeds", seeds}, {"pairs", static_cast<double>(pairs.size())}};
  verdict.measured = worst_ratio;
  verdict.p = worst_p;
  verdict.summary = rounded(worst_ratio) + "×" + with_p(", p = {}", worst_p);
  const bool is_other_metric = than.series.empty() && !than.at;
  const std::string rival =
      than.series.empty() ? (than.at ? fmt::format("{} = {}", c.axis, exact(*than.at)) : than.metric) : than.series;
  if (!against.empty()) against.resize(against.size() - 2);
  verdict.sentence =
      against.empty()
          ? fmt::format("Less than {} in {} of {} comparisons: at most {} times {}{}.", rival, pairs.size(),
                        pairs.size(), rounded(worst_ratio), is_other_metric ? "as large" : "its " + c.curve.metric,
                        with_p(" (largest p = {})", worst_p))
          : fmt::format("Not less than {}{}: {}.", rival,
                        c.claim.factor > 1 ? fmt::format(" by a factor of {}", exact(c.claim.factor)) : "", against);
  verdict.status = against.empty() ? VerdictStatus::pass : VerdictStatus::fail;
  if (seeds < static_cast<int>(c.wanted_seeds())) underpowered(c, verdict, static_cast<size_t>(seeds));
}

void judge_bound_holds(const Case& c, Verdict& verdict) {
  const bool is_overlay = c.claim.bound == "overlay";
  const Overlay* overlay = is_overlay ? overlay_of(c.results, c.curve.series) : nullptr;
  if (is_overlay && !overlay) return not_run(verdict, "the series has no overlay");
  std::vector<double> tightness;
  int violations = 0, without = 0;
  std::string worst;
  for (const TrialRecord& trial : ordered_trials(c.results)) {
    if (trial.series != c.curve.series || trial.status != TrialStatus::finished || !c.curve.at(trial.x)) continue;
    const std::optional<double> value = measured(trial, c.curve.metric);
    const std::optional<double> bound = is_overlay ? overlay_at(*overlay, trial.x) : measured(trial, c.claim.bound);
    if (!value || !std::isfinite(*value) || !bound || std::isnan(*bound)) {
      ++without;
      continue;
    }
    if (!(*value <= *bound)) ++violations;
    const double ratio = *value / *bound;
    if (tightness.empty() || ratio > *std::max_element(tightness.begin(), tightness.end()))
      worst = fmt::format("{} = {} seed {}: {} against {}", c.axis, exact(trial.x), trial.seed, rounded(*value),
                          rounded(*bound));
    tightness.push_back(ratio);
  }
  if (tightness.empty())
    return not_run(verdict, fmt::format("no trial has both {} and {}", c.curve.metric, c.claim.bound));
  const double largest = *std::max_element(tightness.begin(), tightness.end()), middle = median(tightness);
  verdict.numbers = {{"trials", static_cast<double>(tightness.size())},
                     {"violations", violations},
                     {"tightness_max", largest},
                     {"tightness_median", middle}};
  verdict.measured = largest;
  verdict.summary =
      fmt::format("{} of {} above, at most {} of the bound", violations, tightness.size(), rounded(largest));
  verdict.sentence = fmt::format(
      "{} of {} trials lie above the bound ({}). {} / bound is at most {} ({}), at the median {}.", violations,
      tightness.size(), c.claim.bound, c.curve.metric, rounded(largest), worst, rounded(middle));
  if (without > 0)
    verdict.notes.push_back(fmt::format("{} trials have no finite value or no bound, and are not judged", without));
  verdict.status = violations == 0 ? VerdictStatus::pass : VerdictStatus::fail;
}

void judge_within_percent(const Case& c, Verdict& verdict) {
  const ClaimConfig& claim = c.claim;
  Curve targets;
  if (!claim.of.empty()) targets = curve_in_range(c.results, c.curve.series, claim.of, claim);
  const auto column = claim.of.empty() ? paper_points(claim.reference) : std::vector<std::pair<double, double>>{};
  const auto target_at = [&](double x) -> std::optional<double> {
    if (!claim.of.empty()) {
      const Point* p = targets.at(x);
      return p && !p->values.empty() ? std::optional(c.value(*p)) : std::nullopt;
    }
    for (const auto& [at, number] : column)
      if (at == x) return number;
    return column.empty() ? (claim.value ? claim.value : verdict.paper) : std::nullopt;
  };
  double worst = 0;
  size_t compared = 0, seeds = SIZE_MAX;
  std::string where;
  for (const Point& p : c.curve.points) {
    if (claim.at && p.x != *claim.at) continue;
    const std::optional<double> target = target_at(p.x);
    if (!target) continue;
    const double percent =
        *target == 0 ? (c.value(p) == 0 ? 0 : INFINITY) : 100 * (c.value(p) - *target) / std::abs(*target);
    ++compared;
    seeds = std::min(seeds, p.values.size());
    if (!column.empty()) {
      PaperPath path = claim.reference;
      path.push_back(exact(p.x));
      verdict.beside.emplace_back(path, c.value(p));
    }
    if (where.empty() || std::abs(percent) > std::abs(worst)) {
      worst = percent;
      where = fmt::format("{}: {} against {}", c.at(p), rounded(c.value(p)), rounded(*target));
    }
  }
  if (compared == 0) return not_run(verdict, "there is no number to compare with");
  verdict.numbers = {
      {"percent", worst}, {"points", static_cast<double>(compared)}, {"seeds", static_cast<double>(seeds)}};
  verdict.measured = worst;
  verdict.summary = fmt::format("{:+.2f} %", worst);
  verdict.sentence = fmt::format("At the farthest of {} points it is {:+.2f} % away ({}); at most {} % was claimed.",
                                 compared, worst, where, exact(claim.percent));
  verdict.status = std::abs(worst) <= claim.percent ? VerdictStatus::pass : VerdictStatus::fail;
  if (verdict.status == VerdictStatus::pass && seeds < c.wanted_seeds()) underpowered(c, verdict, seeds);
}

}  // namespace headroom::experiments
