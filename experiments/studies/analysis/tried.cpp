#include "experiments/studies/analysis/tried.h"

#include <algorithm>
#include <cmath>

namespace headroom::experiments {

std::string choice_key(const StudyResults& results, const std::string* series) {
  std::set<std::string> keys;
  for (const TrialRecord& t : results.trials)
    if (!series || t.series == *series)
      for (const auto& [key, value] : t.choice) keys.insert(key);
  return keys.size() == 1 ? *keys.begin() : "";
}

std::map<double, Tried> tried_by_x(const StudyResults& results, const std::string& series, const std::string& key) {
  std::map<double, Tried> by_x;
  for (const TrialRecord& t : results.trials) {
    if (t.series != series || !t.choice.contains(key)) continue;
    const auto& metrics = t.validation.contains(results.report.y_metric) ? t.validation : t.test;
    const auto found = metrics.find(results.report.y_metric);
    const bool is_measured = t.status == TrialStatus::finished && found != metrics.end();
    by_x[t.x][t.choice.at(key)][t.seed] = is_measured ? found->second : NAN;
  }
  return by_x;
}

std::set<int64_t> common_seeds(const Tried& tried) {
  std::set<int64_t> common;
  for (const auto& [seed, metric] : tried.begin()->second)
    if (std::all_of(tried.begin(), tried.end(), [seed = seed](const auto& one) { return one.second.contains(seed); }))
      common.insert(seed);
  return common;
}

}  // namespace headroom::experiments
