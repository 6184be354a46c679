#include "experiments/studies/pages/measured.h"

#include <algorithm>
#include <cmath>

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
  Curve shown = curve(results, series);
  shown.metric = metric;
  shown.larger_is_better = tasks::larger_is_better(metric);
  std::vector<double> values;
  for (Point& point : shown.points) {
    point.values.clear();
    point.parts.clear();
    if (metric != results.report.y_metric) point.validation.reset();
    for (const TrialRecord* t : chosen_trials(results, series, point)) {
      const std::optional<double> value = measured(*t, metric);
      if (!value || !std::isfinite(*value)) continue;
      point.values[t->seed] = *value;
      values.push_back(*value);
      if (const auto parts = t->test_parts.find(metric); parts != t->test_parts.end())
        point.parts[t->seed] = parts->second;
    }
    summarise(point, shown.larger_is_better);
  }
  if (metric != results.report.y_metric) shown.kind = mean_kind(results, metric, values);
  return shown;
}

std::vector<Measure> shown_measures(const ReportConfig& report) {
  std::vector<Measure> measures{{report.y_metric, report.y_label, report.y_scale}};
  if (report.right) measures.push_back(*report.right);
  const auto add = [&](const Measure& measure) {
    for (const Measure& known : measures)
      if (known.metric == measure.metric) return;
    measures.push_back(measure);
  };
  for (const FurtherFigure& figure : report.also) {
    add(figure.y);
    if (figure.over) add(*figure.over);
  }
  return measures;
}

}  // namespace headroom::experiments
