#include "experiments/studies/pages/centre.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/output/number.h"
#include "experiments/studies/claims/case.h"
#include "experiments/studies/claims/estimate.h"
#include "tasks/task.h"

namespace headroom::experiments {

const char* name(MeanKind kind) { return kind == MeanKind::geometric ? "geometric mean" : "mean"; }

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

std::vector<Measure> geometric_measures(const StudyResults& r) {
  const std::vector<std::string> names = series_names(r);
  std::vector<Measure> found = shown_measures(r.report);
  std::erase_if(found, [&](const Measure& measure) {
    return std::none_of(names.begin(), names.end(), [&](const std::string& series) {
      const Curve c = metric_curve(r, series, measure.metric);
      return c.kind == MeanKind::geometric &&
             std::any_of(c.points.begin(), c.points.end(), [](const Point& p) { return p.values.size() > 1; });
    });
  });
  return found;
}

Centre centre(const Point& p, MeanKind kind) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const bool logs = kind == MeanKind::geometric;
  Centre found{logs ? p.geometric_mean : p.mean, none, none, none};
  if (p.values.size() < 2 || !std::isfinite(found.mean)) return found;
  found.standard_error = p.standard_error;
  if (logs) {
    Point on_logs;
    for (const auto& [seed, value] : p.values) on_logs.values[seed] = std::log(value);
    summarise(on_logs, false);
    found.standard_error = found.mean * on_logs.standard_error;
  }
  const auto [low, high] = estimate(combined_sample({{&p, 1}}, logs)).interval(0.95);
  found.low = logs ? std::exp(low) : low;
  found.high = logs ? std::exp(high) : high;
  return found;
}

std::string in_words(const Centre& c) {
  if (!c.has_interval()) return rounded(c.mean);
  return fmt::format("{} [{}, {}]", rounded(c.mean), rounded(c.low), rounded(c.high));
}

}  // namespace headroom::experiments
