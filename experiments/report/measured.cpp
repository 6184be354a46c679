#include "experiments/report/measured.h"

#include <algorithm>
#include <cmath>

#include "experiments/claims/statistics.h"
#include "tasks/task.h"

namespace headroom::experiments {

std::vector<const TrialRecord*> chosen_trials(const StudyResults& results, const std::string& series,
                                              const Point& point) {
  std::vector<const TrialRecord*> trials;
  for (const TrialRecord& t : results.trials)
    if (t.series == series && t.x == point.x && t.choice == point.choice && t.status == TrialStatus::finished)
      trials.push_back(&t);
  std::sort(trials.begin(), trials.end(), [](const TrialRecord* a, const TrialRecord* b) { return a->seed < b->seed; });
  return trials;
}

Curve metric_curve(const StudyResults& results, const std::string& series, const std::string& metric) {
  Curve measured = curve(results, series);
  const bool more = tasks::larger_is_better(metric);
  for (Point& point : measured.points) {
    point.values.clear();
    std::vector<double> values;
    for (const TrialRecord* t : chosen_trials(results, series, point)) {
      const auto found = t->test.find(metric);
      if (found == t->test.end() || !std::isfinite(found->second)) continue;
      point.values[t->seed] = found->second;
      values.push_back(found->second);
    }
    point.mean = mean(values);
    point.standard_error = standard_error(values);
    point.geometric_mean = geometric_mean(values);
    point.best = values.empty() ? point.mean
                 : more         ? *std::max_element(values.begin(), values.end())
                                : *std::min_element(values.begin(), values.end());
  }
  return measured;
}

const Point* best_point(const Curve& curve, const std::string& metric) {
  const bool more = tasks::larger_is_better(metric);
  const Point* best = nullptr;
  for (const Point& p : curve.points) {
    if (!std::isfinite(p.mean)) continue;
    if (!best || (more ? p.mean > best->mean : p.mean < best->mean)) best = &p;
  }
  return best;
}

std::vector<Measure> shown_measures(const ReportConfig& report) {
  std::vector<Measure> measures{{report.y_metric, report.y_label, report.y_scale}};
  if (report.right) measures.push_back(*report.right);
  for (const Measure& m : report.also) measures.push_back(m);
  return measures;
}

}  // namespace headroom::experiments
