#include "experiments/studies/pages/centre.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/output/number.h"
#include "experiments/studies/claims/case.h"
#include "experiments/studies/claims/estimate.h"
#include "experiments/studies/pages/measured.h"

namespace headroom::experiments {
namespace {

constexpr double shown_level = 0.95;

/// The standard error of the mean logarithm of the values.
double error_of_logs(const Point& p) {
  Point logs;
  for (const auto& [seed, value] : p.values) logs.values[seed] = std::log(value);
  summarise(logs, false);
  return logs.standard_error;
}

}  // namespace

const char* name(MeanKind kind) { return kind == MeanKind::geometric ? "geometric mean" : "mean"; }

std::vector<Measure> geometric_measures(const StudyResults& r) {
  std::vector<Measure> found;
  for (const Measure& measure : shown_measures(r.report)) {
    const std::vector<std::string> names = series_names(r);
    if (std::any_of(names.begin(), names.end(), [&](const std::string& series) {
          const Curve c = metric_curve(r, series, measure.metric);
          return c.kind == MeanKind::geometric &&
                 std::any_of(c.points.begin(), c.points.end(), [](const Point& p) { return p.values.size() > 1; });
        }))
      found.push_back(measure);
  }
  return found;
}

Centre centre(const Point& p, MeanKind kind) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const bool logs = kind == MeanKind::geometric;
  Centre found{logs ? p.geometric_mean : p.mean, none, none, none};
  if (p.values.size() < 2 || !std::isfinite(found.mean)) return found;
  found.standard_error = logs ? found.mean * error_of_logs(p) : p.standard_error;
  const auto [low, high] = estimate(combined_sample({{&p, 1}}, logs)).interval(shown_level);
  found.low = logs ? std::exp(low) : low;
  found.high = logs ? std::exp(high) : high;
  return found;
}

std::string in_words(const Centre& c) {
  if (!c.has_interval()) return rounded(c.mean);
  return fmt::format("{} [{}, {}]", rounded(c.mean), rounded(c.low), rounded(c.high));
}

}  // namespace headroom::experiments
