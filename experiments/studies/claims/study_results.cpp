#include "experiments/studies/claims/study_results.h"

#include <iterator>
#include <set>

namespace headroom::experiments {

std::vector<const TrialRecord*> each_once(const std::vector<TrialRecord>& trials) {
  std::set<std::string> ids;
  std::vector<const TrialRecord*> once;
  for (const TrialRecord& trial : trials)
    if (trial.id.empty() || ids.insert(trial.id).second) once.push_back(&trial);
  return once;
}

int64_t count_trials(const std::vector<TrialRecord>& trials) { return std::ssize(each_once(trials)); }

}  // namespace headroom::experiments
