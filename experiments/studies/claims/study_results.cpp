#include "experiments/studies/claims/study_results.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

namespace headroom::experiments {

std::vector<const TrialRecord*> each_once(const std::vector<TrialRecord>& trials) {
  std::set<std::string> ids;
  std::vector<const TrialRecord*> once;
  for (const TrialRecord& trial : trials)
    if (trial.id.empty() || ids.insert(trial.id).second) once.push_back(&trial);
  return once;
}

int64_t count_trials(const std::vector<TrialRecord>& trials) { return std::ssize(each_once(trials)); }

int64_t count_failed(const StudyResults& results) {
  const std::vector<const TrialRecord*> trials = each_once(results.trials);
  return std::count_if(trials.begin(), trials.end(),
                       [](const TrialRecord* t) { return t->status == TrialStatus::failed; });
}

double training_seconds(const StudyResults& results) {
  double seconds = 0;
  for (const TrialRecord* t : each_once(results.trials)) seconds += t->seconds;
  return seconds;
}

double wall_seconds(const StudyResults& results) {
  std::vector<std::pair<double, double>> spans;  // (begin, end)
  for (const TrialRecord& t : results.trials) spans.emplace_back(t.ended - t.seconds, t.ended);
  std::sort(spans.begin(), spans.end());
  double seconds = 0, until = -std::numeric_limits<double>::infinity();
  for (const auto& [begin, end] : spans) {
    seconds += std::max(0.0, end - std::max(begin, until));
    until = std::max(until, end);
  }
  return seconds;
}

bool is_pilot(const StudyResults& results) {
  const bool is_computed =
      !results.trials.empty() && std::all_of(results.trials.begin(), results.trials.end(),
                                             [](const TrialRecord& t) { return t.steps == 0 && t.data.empty(); });
  const bool is_own = results.profile == "own" || results.profile.starts_with("own+");  // no paper to be smaller than
  return results.profile != "paper" && !is_own && !is_computed;
}

}  // namespace headroom::experiments
