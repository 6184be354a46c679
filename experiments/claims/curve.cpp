#include "experiments/claims/curve.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "engine/error.h"
#include "experiments/claims/statistics.h"
#include "tasks/task.h"

namespace headroom::experiments {
namespace {

using Choice = std::map<std::string, double>;

/// The trials of one choice at one x.
struct Candidate {
  std::map<int64_t, const TrialRecord*> finished;
  std::vector<int64_t> failed, missing;
  double loss = 0;  ///< mean over the finished seeds, negated where larger is better; +∞ when there is none

  bool complete() const { return failed.empty() && missing.empty(); }
};

/// What a curve is made of, and what its choices are made on.
struct Metric {
  std::string name, choice;
};

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

std::vector<std::string> edges(const Choice& chosen, const std::map<Choice, Candidate>& candidates) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : chosen) {
    std::set<double> tried;
    for (const auto& candidate : candidates)
      if (const auto it = candidate.first.find(key); it != candidate.first.end()) tried.insert(it->second);
    if (tried.size() > 1 && (value == *tried.begin() || value == *tried.rbegin())) keys.push_back(key);
  }
  return keys;
}

Point make_point(double x, std::map<Choice, Candidate>& candidates, const std::set<int64_t>& seeds,
                 const Metric& metric) {
  for (auto& [choice, candidate] : candidates) {
    for (int64_t seed : seeds) {
      const bool failed = std::count(candidate.failed.begin(), candidate.failed.end(), seed) > 0;
      if (!failed && !candidate.finished.count(seed)) candidate.missing.push_back(seed);
    }
    if (candidates.size() == 1) break;  // nothing to choose: validation is not asked for
    std::vector<double> values;
    for (const auto& trial : candidate.finished) values.push_back(validation(*trial.second, metric.choice));
    candidate.loss = values.empty() ? INFINITY : mean(values) * (tasks::larger_is_better(metric.choice) ? -1 : 1);
  }
  // The first of equals: the smallest choice.
  const auto chosen = std::min_element(candidates.begin(), candidates.end(),
                                       [](const auto& a, const auto& b) { return preferred(a.second, b.second); });
  Point point;
  point.x = x;
  point.choice = chosen->first;
  point.edges = edges(chosen->first, candidates);
  point.failed = chosen->second.failed;
  point.missing = chosen->second.missing;
  for (const auto& [choice, candidate] : candidates)
    point.failed_elsewhere += static_cast<int>(candidate.failed.size());
  point.failed_elsewhere -= static_cast<int>(point.failed.size());
  std::vector<double> values;
  for (const auto& [seed, trial] : chosen->second.finished) {
    point.values[seed] = test(*trial, metric.name);
    values.push_back(point.values[seed]);
  }
  summarise(point, tasks::larger_is_better(metric.name));
  return point;
}

/// Finished, with finite metrics wherever they are given.
bool usable(const TrialRecord& trial, const Metric& metric) {
  const auto finite = [](const std::map<std::string, double>& metrics, const std::string& name) {
    const auto found = metrics.find(name);
    return found == metrics.end() || std::isfinite(found->second);
  };
  return trial.status == TrialStatus::finished && finite(trial.validation, metric.choice) &&
         finite(trial.test, metric.name);
}

}  // namespace

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
  for (const Point& point : points)
    if (point.x == x) return &point;
  return nullptr;
}

bool Curve::better(double a, double b) const {
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  return larger_is_better ? a > b : a < b;
}

const Point* Curve::best() const {
  const Point* found = nullptr;
  for (const Point& point : points)
    if (!std::isnan(point.mean) && (!found || better(point.mean, found->mean))) found = &point;
  return found;
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

std::vector<TrialRecord> ordered_trials(const StudyResults& results) {
  const auto names = series_names(results);
  const auto place = [&](const TrialRecord& t) {
    return std::find(names.begin(), names.end(), t.series) - names.begin();
  };
  std::vector<TrialRecord> trials = results.trials;
  for (const TrialRecord& t : trials)
    require(place(t) < std::ssize(names), "trial {}: the study has no series '{}'", t.id, t.series);
  std::sort(trials.begin(), trials.end(), [&](const TrialRecord& a, const TrialRecord& b) {
    if (place(a) != place(b)) return place(a) < place(b);
    return std::tie(a.x, a.choice, a.seed, a.id) < std::tie(b.x, b.choice, b.seed, b.id);
  });
  for (size_t i = 1; i < trials.size(); ++i) {
    const TrialRecord &a = trials[i - 1], &b = trials[i];
    require(std::tie(a.series, a.x, a.choice, a.seed) != std::tie(b.series, b.x, b.choice, b.seed),
            "trials {} and {} are both {}={} seed={} of series '{}'", a.id, b.id, results.report.x_key, a.x, a.seed,
            a.series);
  }
  return trials;
}

Curve curve(const StudyResults& results, const std::string& series, const std::string& name) {
  const std::vector<TrialRecord> trials = ordered_trials(results);
  const Metric metric{name.empty() ? results.report.y_metric : name, results.report.y_metric};
  std::map<double, std::map<Choice, Candidate>> by_x;
  std::set<int64_t> seeds;
  for (const TrialRecord& trial : trials) {
    if (trial.series != series) continue;
    seeds.insert(trial.seed);
    Candidate& candidate = by_x[trial.x][trial.choice];
    if (usable(trial, metric)) candidate.finished[trial.seed] = &trial;
    else candidate.failed.push_back(trial.seed);
  }
  Curve result{series, metric.name, tasks::larger_is_better(metric.name), {}};
  for (auto& [x, candidates] : by_x) result.points.push_back(make_point(x, candidates, seeds, metric));
  return result;
}

}  // namespace headroom::experiments
