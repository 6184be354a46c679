#include "experiments/studies/analysis/analysis.h"

#include <algorithm>
#include <tuple>

namespace headroom::experiments {

Analysis::Analysis(StudyResults results) : StudyResults(std::move(results)) {}

Analysis::Analysis(StudyResults results, std::vector<Verdict> verdicts) : Analysis(std::move(results)) {
  kept_->verdicts = std::move(verdicts);
}

const Curve& Analysis::curve(const std::string& series, const std::string& metric) const {
  const std::lock_guard lock(kept_->mutex);
  const std::pair key(series, metric.empty() ? report.y_metric : metric);
  const auto found = kept_->curves.find(key);
  return found != kept_->curves.end() ? found->second
                                      : kept_->curves.emplace(key, compute_curve(series, key.second)).first->second;
}

const Curve& Analysis::shown_curve(const std::string& series, const std::string& metric) const {
  if (metric == report.y_metric) return curve(series);
  const std::lock_guard lock(kept_->mutex);
  const std::pair key(series, metric);
  const auto found = kept_->shown.find(key);
  return found != kept_->shown.end() ? found->second
                                     : kept_->shown.emplace(key, compute_shown(series, metric)).first->second;
}

const std::vector<Verdict>& Analysis::verdicts() const {
  const std::lock_guard lock(kept_->mutex);
  if (!kept_->verdicts) kept_->verdicts = judge();
  return *kept_->verdicts;
}

std::vector<Analysis> in_order(std::vector<Analysis> studies) {
  const auto name = [](const Analysis& one) { return std::tie(one.id, one.profile); };
  std::stable_sort(studies.begin(), studies.end(),
                   [&](const Analysis& a, const Analysis& b) { return name(a) < name(b); });
  studies.erase(std::unique(studies.begin(), studies.end(),
                            [&](const Analysis& a, const Analysis& b) { return name(a) == name(b); }),
                studies.end());
  return studies;
}

}  // namespace headroom::experiments
