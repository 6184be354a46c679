#include "experiments/claims/study_results.h"

#include <set>

namespace headroom::experiments {

int64_t count_trials(const std::vector<TrialRecord>& trials) {
  std::set<std::string> ids;
  int64_t count = 0;
  for (const TrialRecord& trial : trials)
    if (trial.id.empty() || ids.insert(trial.id).second) ++count;
  return count;
}

}  // namespace headroom::experiments
