#include "experiments/studies/analysis/curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "engine/error.h"
#include "experiments/studies/analysis/analysis.h"
#include "experiments/studies/analysis/statistics.h"
#include "experiments/studies/config/trial_facts.h"
#include "tasks/task.h"

namespace headroom::experiments {
namespace {

using Choice = std::map<std::string, double>;

/// The trials of one choice at one x.
struct Candidate {
  std::map<int64_t, const TrialRecord*> finished;
  std::set<int64_t> failed;
  std::vector<int64_t> missing;
  double loss = 0;  ///< mean over the finished seeds, negated where larger is better; +∞ when there is none

  bool complete() const { return failed.empty() && missing.empty(); }
};

/// What a curve is made of, and what its choices are made on, each with its mean over seeds.
struct Metric {
  std::string name, choice;
  MeanKind kind = MeanKind::arithmetic, choice_kind = MeanKind::arithmetic;
  bool is_larger_better = false, is_larger_chosen = false;
};

/// A metric that is there and a number.
std::optional<double> finite(const std::map<std::string, double>& metrics, const std::string& name) {
  const auto found = metrics.find(name);
  return found != metrics.end() && std::isfinite(found->second) ? std::optional(found->second) : std::nullopt;
}

double validation(const TrialRecord& trial, const std::string& name) {
  const auto found = trial.validation.find(name);
  require(found != trial.validation.end(), "trial {}: no validation metric '{}' to report", trial.id, name);
  return found->second;
}

double test(const TrialRecord& trial, const std::string& name) {
  const std::optional<double> value = measured(trial, name);
  require(value.has_value(), "trial {}: no test metric '{}' to report", trial.id, name);
  return *value;
}

/// Candidates in the order in which they are preferred.
bool preferred(const Candidate& a, const Candidate& b) {
  if (a.complete() != b.complete()) return a.complete();
  if (a.finished.size() != b.finished.size()) return a.finished.size() > b.finished.size();
  return a.loss < b.loss;
}

/// Which of the chosen keys stand at an end of the values tried, and which had no other value.
void add_edges(Point& point, const std::map<Choice, Candidate>& candidates) {
  for (const auto& [key, value] : point.choice) {
    std::set<double> tried;
    for (const auto& candidate : candidates)
      if (const auto it = candidate.first.find(key); it != candidate.first.end()) tried.insert(it->second);
    if (tried.size() < 2) point.single.push_back(key);
    else if (value == *tried.begin() || value == *tried.rbegin()) point.edges.push_back(key);
  }
}

std::optional<double> validation_mean(const Candidate& candidate, const Metric& metric) {
  std::vector<double> values;
  for (const auto& [seed, trial] : candidate.finished) {
    const std::optional<double> value = finite(trial->validation, metric.name);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values.empty() ? std::nullopt : std::optional(mean(values, metric.kind));
}

/// Point::last_gain of one trial.
std::optional<double> last_gain(const TrialRecord& trial, const std::string& metric) {
  const bool larger = tasks::larger_is_better(metric);
  for (const auto& [split, name] : {std::pair{"validation", metric.c_str()}, {"train", "loss"}}) {
    std::vector<double> before, last;
    for (const HistoryPoint& p : trial.history) {
      const double step = 10 * static_cast<double>(p.step), steps = static_cast<double>(trial.steps);
      if (p.split != split || p.metric != name || step <= 8 * steps) continue;
      (step <= 9 * steps ? before : last).push_back(p.value);
    }
    if (before.empty() || last.empty()) continue;
    const double gain = mean(before) / mean(last);
    return larger && name == metric ? 1 / gain : gain;
  }
  return std::nullopt;
}

/// Whether a trial was validated on what it was tested on: sets of the same items give the same numbers.
bool is_tested_on_validation(const TrialRecord& trial) {
  const auto is_same = [&](const auto& metric) {
    const auto found = trial.test.find(metric.first);
    return found != trial.test.end() && found->second == metric.second;
  };
  return std::all_of(trial.validation.begin(), trial.validation.end(), is_same);
}

Point make_point(double x, std::map<Choice, Candidate>& candidates, const std::set<int64_t>& seeds,
                 const Metric& metric) {
  for (auto& [choice, candidate] : candidates) {
    for (int64_t seed : seeds) {
      if (!candidate.failed.count(seed) && !candidate.finished.count(seed)) candidate.missing.push_back(seed);
    }
    if (candidates.size() == 1) break;  // nothing to choose: validation is not asked for
    std::vector<double> values;
    for (const auto& trial : candidate.finished) values.push_back(validation(*trial.second, metric.choice));
    const double sign = metric.is_larger_chosen ? -1 : 1;
    candidate.loss = values.empty() ? INFINITY : sign * mean(values, metric.choice_kind);
  }
  // The first of equals: the smallest choice.
  const auto chosen = std::min_element(candidates.begin(), candidates.end(),
                                       [](const auto& a, const auto& b) { return preferred(a.second, b.second); });
  Point point;
  point.x = x;
  point.choice = chosen->first;
  add_edges(point, candidates);
  point.failed.assign(chosen->second.failed.begin(), chosen->second.failed.end());
  point.missing = chosen->second.missing;
  for (const auto& [choice, candidate] : candidates)
    point.failed_elsewhere += static_cast<int>(candidate.failed.size());
  point.failed_elsewhere -= static_cast<int>(point.failed.size());
  std::vector<double> values;
  for (const auto& [seed, trial] : chosen->second.finished) {
    point.values[seed] = test(*trial, metric.name);
    values.push_back(point.values[seed]);
    if (metric.name == "steps_to" && values.back() > static_cast<double>(trial->steps)) point.may_be_more.insert(seed);
    point.steps.insert(trial->steps);
    point.is_trained |= trial->steps > 0 && trial->validation.contains(metric.name);
    point.parameters = std::max(point.parameters, trial->parameters);
    if (const auto gain = last_gain(*trial, metric.name)) point.last_gain[seed] = *gain;
    if (const auto parts = trial->test_parts.find(metric.name); parts != trial->test_parts.end())
      point.parts[seed] = parts->second;
  }
  point.is_held_out = candidates.size() < 2 || values.empty() ||
                      !std::all_of(chosen->second.finished.begin(), chosen->second.finished.end(),
                                   [](const auto& entry) { return is_tested_on_validation(*entry.second); });
  point.validation = validation_mean(chosen->second, metric);
  summarise(point, metric.is_larger_better);
  return point;
}

/// `trials` by x, choice and seed, which tell the trials of a series apart.
void sort_series(std::vector<const TrialRecord*>& trials, const std::string& x_key) {
  std::sort(trials.begin(), trials.end(), [](const TrialRecord* a, const TrialRecord* b) {
    return std::tie(a->x, a->choice, a->seed, a->id) < std::tie(b->x, b->choice, b->seed, b->id);
  });
  for (size_t i = 1; i < trials.size(); ++i) {
    const TrialRecord &a = *trials[i - 1], &b = *trials[i];
    require(std::tie(a.x, a.choice, a.seed) != std::tie(b.x, b.choice, b.seed),
            "trials {} and {} are both {}={} seed={} of series '{}'", a.id, b.id, x_key, a.x, a.seed, a.series);
  }
}

/// Finished, with finite metrics wherever they are given.
bool usable(const TrialRecord& trial, const Metric& metric) {
  const auto is_usable = [](const std::map<std::string, double>& metrics, const std::string& name) {
    return !metrics.contains(name) || finite(metrics, name);
  };
  return trial.status == TrialStatus::finished && is_usable(trial.validation, metric.choice) &&
         is_usable(trial.test, metric.name);
}

/// The kind of mean of a metric by its values in trials, on validation and on test.
MeanKind kind_over(const StudyResults& results, const std::vector<const TrialRecord*>& trials,
                   const std::string& name) {
  std::vector<double> values;
  for (const TrialRecord* trial : trials) {
    if (trial->status != TrialStatus::finished) continue;
    for (const auto* metrics : {&trial->validation, &trial->test})
      if (const auto value = finite(*metrics, name)) values.push_back(*value);
  }
  return mean_kind(results, name, values);
}

}  // namespace

MeanKind mean_kind(const StudyResults& results, const std::string& metric, const std::vector<double>& values) {
  if (larger_is_better(results, metric) || tasks::is_share(metric)) return MeanKind::arithmetic;
  for (const ClaimConfig& claim : results.claims)
    if (!claim.log_error && (claim.metric.empty() ? results.report.y_metric : claim.metric) == metric)
      return MeanKind::arithmetic;
  const bool all_positive = std::all_of(values.begin(), values.end(), [](double value) { return value > 0; });
  return all_positive ? MeanKind::geometric : MeanKind::arithmetic;
}

bool larger_is_better(const StudyResults& results, const std::string& metric) {
  return tasks::larger_is_better(metric) || (results.foreign && results.foreign->larger_is_better.contains(metric));
}

double mean(const std::vector<double>& values, MeanKind kind) {
  return kind == MeanKind::geometric ? geometric_mean(values) : mean(values);
}

void summarise(Point& point, bool larger_is_better) {
  std::vector<double> values;
  for (const auto& entry : point.values) values.push_back(entry.second);
  point.mean = mean(values);
  point.standard_error = standard_error(values);
  point.geometric_mean = geometric_mean(values);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  point.best = values.empty() ? point.mean : larger_is_better ? *most : *least;
}

const Point* Curve::at(double x) const {
  const auto found =
      std::lower_bound(points.begin(), points.end(), x, [](const Point& p, double at) { return p.x < at; });
  return found == points.end() || found->x != x ? nullptr : &*found;
}

bool Curve::better(double a, double b) const {
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  return larger_is_better ? a > b : a < b;
}

const Point* Curve::best() const {
  const Point* found = nullptr;
  for (const Point& point : points)
    if (!std::isnan(mean(point)) && (!found || better(mean(point), mean(*found)))) found = &point;
  return found;
}

double Curve::chosen_by(const Point& point, bool validated) const {
  if (!std::isfinite(point.mean)) return std::numeric_limits<double>::quiet_NaN();
  return validated ? *point.validation : mean(point);
}

const Point* Curve::choose(const std::vector<const Point*>& among) const {
  const bool validated = is_validated(among);
  const Point* found = nullptr;
  for (const Point* p : among)
    if (std::isfinite(p->mean) && (!found || better(chosen_by(*p, validated), chosen_by(*found, validated)))) found = p;
  return found;
}

std::vector<const Point*> Curve::all_points() const {
  std::vector<const Point*> all;
  for (const Point& p : points) all.push_back(&p);
  return all;
}

bool is_validated(const std::vector<const Point*>& points) {
  return std::all_of(points.begin(), points.end(),
                     [](const Point* p) { return !std::isfinite(p->mean) || p->validation.has_value(); });
}

std::optional<double> learned_limit(const Curve& curve, const std::optional<double>& stated) {
  if (stated) return stated;
  return curve.metric == "relative_mse" ? std::optional(unlearned_share) : curve.floor;
}

void mark_learned(Curve& curve, const std::optional<double>& learned_at) {
  const std::optional<double> limit = learned_limit(curve, learned_at);
  if (!limit) return;
  for (Point& p : curve.points)
    p.unlearned = static_cast<int>(std::count_if(
        p.values.begin(), p.values.end(), [&](const auto& entry) { return curve.better(*limit, entry.second); }));
}

std::optional<double> unlearned_best(const Curve& curve, const std::optional<double>& learned_at) {
  const Point* best = curve.best();
  const std::optional<double> limit = learned_limit(curve, learned_at);
  if (!best || !limit) return std::nullopt;
  const double mean = curve.mean(*best);
  return curve.better(*limit, mean) ? std::optional(mean) : std::nullopt;
}

std::optional<double> measured(const TrialRecord& trial, const std::string& metric) {
  if (const auto found = trial.test.find(metric); found != trial.test.end()) return found->second;
  if (metric == "parameters") return static_cast<double>(trial.parameters);
  if (metric == "flops") return trial.flops;
  if (metric == "seconds") return trial.seconds;
  return std::nullopt;
}

std::vector<std::string> series_names(const StudyResults& results) {
  return results.series.empty() ? std::vector<std::string>{""} : results.series;
}

std::vector<std::string> series_of(const StudyResults& results, const ClaimConfig& claim) {
  std::vector<std::string> series{claim.series.empty() ? series_names(results).front() : claim.series};
  if (const std::string& other = claim.keys.than.series; !other.empty()) series.push_back(other);
  return series;
}

const Overlay* overlay_of(const StudyResults& results, const std::string& series) {
  const bool only_one = series_names(results).size() == 1;
  for (const Overlay& overlay : results.report.overlays)
    if (overlay.series == series || (overlay.series.empty() && only_one)) return &overlay;
  return nullptr;
}

double overlay_at(const Overlay& overlay, double x) {
  for (const auto& [at, value] : overlay.points)
    if (at == x) return value;
  return std::numeric_limits<double>::quiet_NaN();
}

std::vector<const TrialRecord*> ordered_trials(const StudyResults& results) {
  std::map<std::string, std::vector<const TrialRecord*>> by_series;
  const std::vector<std::string> names = series_names(results);
  for (const std::string& name : names) by_series[name];
  for (const TrialRecord& t : results.trials) {
    const auto series = by_series.find(t.series);
    require(series != by_series.end(), "trial {}: the study has no series '{}'", t.id, t.series);
    series->second.push_back(&t);
  }
  std::vector<const TrialRecord*> trials;
  for (const std::string& name : names) {
    std::vector<const TrialRecord*>& part = by_series[name];
    sort_series(part, results.report.x_key);
    trials.insert(trials.end(), part.begin(), part.end());
    part.clear();
  }
  return trials;
}

std::vector<const TrialRecord*> chosen_trials(const StudyResults& results, const std::string& series,
                                              const Point& point) {
  std::vector<const TrialRecord*> trials;
  for (const TrialRecord& t : results.trials)
    if (t.series == series && t.x == point.x && t.choice == point.choice && t.status == TrialStatus::finished)
      trials.push_back(&t);
  std::sort(trials.begin(), trials.end(), [](const TrialRecord* a, const TrialRecord* b) { return a->seed < b->seed; });
  return trials;
}

Curve Analysis::compute_curve(const std::string& series, const std::string& name) const {
  std::vector<const TrialRecord*> own;
  for (const TrialRecord& trial : trials)
    if (trial.series == series) own.push_back(&trial);
  sort_series(own, report.x_key);
  Metric metric{name, report.y_metric};
  metric.is_larger_better = larger_is_better(*this, metric.name);
  metric.is_larger_chosen = larger_is_better(*this, metric.choice);
  metric.kind = kind_over(*this, own, metric.name);
  metric.choice_kind = kind_over(*this, own, metric.choice);
  std::map<double, std::map<Choice, Candidate>> by_x;
  std::map<size_t, std::set<int64_t>> seeds;  // that looks called for
  for (const TrialRecord* trial : own) {
    seeds[looks.look_of({series, trial->x})].insert(trial->seed);
    Candidate& candidate = by_x[trial->x][trial->choice];
    if (usable(*trial, metric)) candidate.finished[trial->seed] = trial;
    else candidate.failed.insert(trial->seed);
  }
  Curve result{series, metric.name, metric.is_larger_better, metric.kind, {}};
  if (metric.name == "cross_entropy" && !own.empty()) result.floor = text_floor(facts(*own.front()));
  for (auto at = seeds.begin(); at != seeds.end(); ++at)
    if (at != seeds.begin()) at->second.insert(std::prev(at)->second.begin(), std::prev(at)->second.end());
  const bool has_rate = !own.empty() && facts(*own.front()).rate && !facts(*own.front()).is_timed;
  for (auto& [x, candidates] : by_x) {
    const SeriesAndX place{series, x};
    result.points.push_back(make_point(x, candidates, seeds.at(looks.look_of(place)), metric));
    result.points.back().of = {place};
    result.points.back().is_trained &= has_rate;
  }
  return result;
}

Curve Analysis::compute_shown(const std::string& series, const std::string& metric) const {
  Curve shown = curve(series);
  shown.metric = metric;
  shown.larger_is_better = larger_is_better(*this, metric);
  std::vector<double> values;
  for (Point& point : shown.points) {
    point.values.clear();
    point.parts.clear();
    point.validation.reset();
    for (const TrialRecord* t : chosen_trials(*this, series, point)) {
      const std::optional<double> value = measured(*t, metric);
      if (!value || !std::isfinite(*value)) continue;
      point.values[t->seed] = *value;
      values.push_back(*value);
      if (const auto parts = t->test_parts.find(metric); parts != t->test_parts.end())
        point.parts[t->seed] = parts->second;
    }
    summarise(point, shown.larger_is_better);
  }
  shown.kind = mean_kind(*this, metric, values);
  return shown;
}

}  // namespace headroom::experiments
