#include "experiments/studies/analysis/centre.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/output/number.h"
#include "experiments/studies/analysis/case.h"
#include "experiments/studies/analysis/estimate.h"

namespace headroom::experiments {

const char* name(MeanKind kind) { return kind == MeanKind::geometric ? "geometric mean" : "mean"; }

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

std::vector<Measure> geometric_measures(const Analysis& r) {
  const std::vector<std::string> names = series_names(r);
  std::vector<Measure> found = shown_measures(r.report);
  std::erase_if(found, [&](const Measure& measure) {
    return std::none_of(names.begin(), names.end(), [&](const std::string& series) {
      const Curve& c = r.shown_curve(series, measure.metric);
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
