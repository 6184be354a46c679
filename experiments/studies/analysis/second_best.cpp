#include <set>

#include "experiments/studies/analysis/analysis.h"

namespace headroom::experiments {

StudyResults without_first_choices(const Analysis& results) {
  std::set<const TrialRecord*> first;
  for (const std::string& series : series_names(results))
    for (const Point& point : results.curve(series).points) {
      if (point.choice.empty()) continue;
      std::set<const TrialRecord*> chosen;
      bool has_other = false;
      for (const TrialRecord& trial : results.trials) {
        if (trial.series != series || trial.x != point.x) continue;
        if (trial.choice == point.choice) chosen.insert(&trial);
        else has_other |= trial.status == TrialStatus::finished;
      }
      if (has_other) first.merge(chosen);
    }
  StudyResults out = results;
  out.trials.clear();
  for (const TrialRecord& trial : results.trials)
    if (!first.contains(&trial)) out.trials.push_back(trial);
  out.planned -= count_trials(results.trials) - count_trials(out.trials);
  return out;
}

}  // namespace headroom::experiments
