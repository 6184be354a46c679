#include "experiments/studies/claims/mean_kind.h"

#include <algorithm>

#include "experiments/studies/claims/statistics.h"
#include "tasks/task.h"

namespace headroom::experiments {

MeanKind mean_kind(const StudyResults& results, const std::string& metric, const std::vector<double>& values) {
  if (tasks::larger_is_better(metric) || tasks::is_share(metric)) return MeanKind::arithmetic;
  for (const ClaimConfig& claim : results.claims)
    if (!claim.log_error && (claim.metric.empty() ? results.report.y_metric : claim.metric) == metric)
      return MeanKind::arithmetic;
  const bool all_positive = std::all_of(values.begin(), values.end(), [](double value) { return value > 0; });
  return all_positive ? MeanKind::geometric : MeanKind::arithmetic;
}

double mean(const std::vector<double>& values, MeanKind kind) {
  return kind == MeanKind::geometric ? geometric_mean(values) : mean(values);
}

}  // namespace headroom::experiments
