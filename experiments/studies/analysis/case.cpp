#include "experiments/studies/analysis/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/output/number.h"
#include "experiments/studies/analysis/statistics.h"

namespace headroom::experiments {
namespace {

/// The parts of one point's trial, of the metric's logarithm to first order around its value where `logs`.
std::vector<double> parts_of(const Point& p, int64_t seed, bool logs) {
  const auto found = p.parts.find(seed);
  if (found == p.parts.end()) return {};
  std::vector<double> parts = found->second;
  const double whole = p.values.at(seed);
  if (logs)
    for (double& part : parts) part = std::log(whole) + part / whole - 1;
  return parts;
}

/// Whether the value of a seed is a bound.
bool is_bound(const Point& p, int64_t seed) { return p.may_be_more.contains(seed) || p.may_be_less.contains(seed); }

/// Whether seeds pair two points: by at least two seeds, and by half of those that the smaller one has.
bool are_paired(const Point& a, const Point& b) {
  const auto both = std::count_if(a.values.begin(), a.values.end(),
                                  [&](const auto& entry) { return b.values.contains(entry.first); });
  return both >= 2 && 2 * both >= std::ssize(a.values.size() < b.values.size() ? a.values : b.values);
}

/// The terms in groups whose points pair with the first of each; of our own trials one group.
std::vector<Terms> paired_groups(const Terms& terms, const std::optional<ForeignRules>& foreign) {
  std::vector<Terms> groups;
  for (const auto& term : terms) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const Terms& one) {
      const Point *first = one[0].first, *own = term.first;
      return !foreign || first == own || (foreign->has_seeds && are_paired(*first, *own));
    });
    if (group == groups.end()) groups.push_back({term});
    else group->push_back(term);
  }
  return groups;
}

/// Adds weight × parts; the sum has none where one of its terms has none, or another number of them.
void add_parts(std::vector<double>& sum, const std::vector<double>& parts, double weight, bool is_first) {
  if (is_first) sum.assign(parts.size(), 0);
  if (sum.size() != parts.size()) sum.clear();
  for (size_t k = 0; k < sum.size(); ++k) sum[k] += weight * parts[k];
}

}  // namespace

Sample combined_sample(const Terms& terms, bool logs) {
  Sample sample;
  bool has_parts = true;
  std::vector<std::ptrdiff_t> bounds;  // of each seed
  for (const auto& entry : terms.front().first->values) {
    const int64_t seed = entry.first;
    double sum = 0;
    std::vector<double> parts;
    bool in_all = true;
    for (size_t i = 0; i < terms.size() && in_all; ++i) {
      const auto& [point, weight] = terms[i];
      const auto found = point->values.find(seed);
      in_all = found != point->values.end();
      if (!in_all) break;
      sum += weight * (logs ? std::log(found->second) : found->second);
      add_parts(parts, parts_of(*point, seed, logs), weight, i == 0);
    }
    if (!in_all) continue;
    for (const auto& [point, weight] : terms) {
      sample.may_be_more |= weight != 0 && (weight > 0 ? point->may_be_more : point->may_be_less).contains(seed);
      sample.may_be_less |= weight != 0 && (weight > 0 ? point->may_be_less : point->may_be_more).contains(seed);
    }
    bounds.push_back(std::count_if(terms.begin(), terms.end(), [seed](const auto& term) {
      return term.second != 0 && is_bound(*term.first, seed);
    }));
    sample.seeds.push_back(sum);
    has_parts = has_parts && parts.size() > 1 && (sample.parts.empty() || parts.size() == sample.parts[0].size());
    sample.parts.push_back(std::move(parts));
  }
  if (!has_parts) sample.parts.clear();
  if (!bounds.empty()) {
    const auto fewest = std::count(bounds.begin(), bounds.end(), *std::min_element(bounds.begin(), bounds.end()));
    sample.censored = static_cast<int>(std::ssize(bounds) - fewest);
  }
  return sample;
}

ConfidenceInterval interval_of(const std::string& name, const Estimate& number, double level) {
  const char* const sign = number.may_be_more == number.may_be_less ? "" : number.may_be_more ? "≥ " : "≤ ";
  if (number.is_computed() || level <= 0) return {.name = name, .value = number.value, .sign = sign};
  const auto [low, high] = number.interval(level);
  return {name, number.value, low, high, level, number.method(), sign};
}

ConfidenceInterval exponential(ConfidenceInterval logs) {
  for (double* end : {&logs.value, &logs.low, &logs.high}) *end = std::exp(*end);
  if (!logs.method.empty()) logs.method.insert(logs.method.find('t') + 1, " on logs");
  return logs;
}

bool Case::is_computed() const {
  return claim.deterministic && std::any_of(curve.points.begin(), curve.points.end(), [](const Point& p) {
           const bool is_trained = std::any_of(p.steps.begin(), p.steps.end(), [](int64_t n) { return n > 0; });
           return is_trained || p.values.empty() || p.parts.size() < p.values.size();
         });
}

const Point& Case::best(const std::vector<const Point*>& points) const {
  const Point* chosen = curve.choose(points);
  return chosen ? *chosen : *points.front();
}

Curve Case::rivals() const {
  const Than& than = claim.keys.than;
  if (than.series.empty() && than.metric.empty()) return curve;
  return curve_in_range(study, than.series.empty() ? curve.series : than.series,
                        than.metric.empty() ? curve.metric : than.metric, claim);
}

std::vector<const Point*> Case::points(const std::vector<double>& without) const {
  std::vector<const Point*> some;
  for (const Point& p : curve.points)
    if (std::find(without.begin(), without.end(), p.x) == without.end()) some.push_back(&p);
  return some;
}

Estimate Case::combine(const Terms& terms, bool logs) const {
  if (const std::vector<Terms> groups = paired_groups(terms, study.foreign);
      groups.size() > 1 && !claim.deterministic) {
    std::vector<Estimate> samples;
    for (const Terms& group : groups) samples.push_back(estimate(combined_sample(group, logs)));
    Estimate sum = sum_of_unpaired(samples);
    sum.is_anytime = study.looks.anytime;
    return sum;
  }
  Sample sample = combined_sample(terms, logs);
  if (is_computed()) sample.parts.clear();
  if (claim.deterministic) return estimate_over_parts(sample);
  Estimate out = estimate(sample);
  out.is_anytime = study.looks.anytime;
  for (const auto& term : terms) out.of.insert(out.of.end(), term.first->of.begin(), term.first->of.end());
  return out;
}

std::vector<Hypothesis::Reservation> Case::reservations(const std::vector<const Point*>& compared) const {
  std::vector<Hypothesis::Reservation> reasons;
  for (const Point* p : compared) {
    if (p->unlearned == 0) continue;
    const std::string& of = claim.keys.than.series.empty() ? claim.keys.than.metric : claim.keys.than.series;
    const std::ptrdiff_t seeds = std::ssize(p->values);
    const std::string who =
        p->unlearned == seeds ? "no seed" : fmt::format("only {} of {} seeds", seeds - p->unlearned, seeds);
    const bool is_own = curve.at(p->x) == p;
    reasons.emplace_back(fmt::format("{}{} learned the target at {}", who, is_own ? "" : " of " + of, axis), p->x);
  }
  return reasons;
}

Hypothesis Case::at_least(const Point& a, const Point& b, double times, bool strictly) const {
  const Hypothesis one = on_logs() ? Hypothesis::at_least(combine({{&a, 1}, {&b, -1}}, true), std::log(times), strictly)
                                   : Hypothesis::at_least(combine({{&a, 1}, {&b, -times}}), 0, strictly);
  return one.with(reservations({&a, &b}));
}

Hypothesis Case::at_most(const Point& a, const Point& b, double times) const {
  const Hypothesis one = on_logs() ? Hypothesis::at_most(combine({{&a, 1}, {&b, -1}}, true), std::log(times))
                                   : Hypothesis::at_most(combine({{&a, 1}, {&b, -times}}), 0);
  return one.with(reservations({&a, &b}));
}

Hypothesis Case::worse(const Point& a, const Point& b, double times) const {
  const bool strictly = times == 1;
  return curve.larger_is_better ? at_least(b, a, times, strictly) : at_least(a, b, times, strictly);
}

Hypothesis Case::not_worse(const Point& a, const Point& b, double times) const {
  return curve.larger_is_better ? at_most(b, a, times) : at_most(a, b, times);
}

double Case::times_worse(const Point& a, const Point& b) const {
  return curve.larger_is_better ? value(b) / value(a) : value(a) / value(b);
}

Limits Case::worse_limits() const {
  const double factor = claim.keys.factor;
  const bool is_strict = factor == 1;
  // A ratio is that of the values: where more is better, the worse one is the smaller.
  return curve.larger_is_better ? Limits{.high = 1 / factor, .is_strict = is_strict}
                                : Limits{.low = factor, .is_strict = is_strict};
}

Limits Case::near_limits() const {
  const double factor = claim.keys.factor;
  return curve.larger_is_better ? Limits{.low = 1 / factor} : Limits{.high = factor};
}

ConfidenceInterval Case::interval(const std::string& name, const Estimate& number, size_t comparisons,
                                  const Limits& claimed) const {
  const double level = 1 - 2 * significance() / static_cast<double>(std::max<size_t>(comparisons, 1));
  ConfidenceInterval interval = interval_of(name, number, level);
  if (comparisons > 1 && !interval.method.empty()) interval.method += fmt::format(", Bonferroni over {}", comparisons);
  interval.claimed = claimed;
  return interval;
}

ConfidenceInterval Case::ratio(const std::string& name, const Point& a, const Point& b, size_t comparisons,
                               const Limits& claimed) const {
  ConfidenceInterval out{.name = name, .value = value(a) / value(b), .claimed = claimed};
  if (on_logs()) out = exponential(interval(name, combine({{&a, 1}, {&b, -1}}, true), comparisons, claimed));
  else if (!is_computed()) out = interval(name + "_difference", combine({{&a, 1}, {&b, -1}}), comparisons, claimed);
  out.of = place(a);
  out.to = place(b);
  return out;
}

std::string Case::at(const Point& p) const {
  return axis.empty() ? curve.series : fmt::format("{} = {}", axis, exact(p.x));
}

Curve curve_in_range(const Analysis& study, const std::string& series, const std::string& metric,
                     const ClaimConfig& claim) {
  Curve all = study.curve(series, metric);
  std::erase_if(all.points,
                [&](const Point& p) { return (claim.from && p.x < *claim.from) || (claim.to && p.x > *claim.to); });
  const bool is_own_metric =
      claim.metric.empty() ? metric.empty() || metric == study.report.y_metric : metric == claim.metric;
  if (!claim.deterministic) mark_learned(all, is_own_metric ? claim.learned_at : std::nullopt);
  return all;
}

}  // namespace headroom::experiments
