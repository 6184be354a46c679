#include "experiments/studies/pages/second_choices.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "experiments/output/number.h"
#include "experiments/studies/claims/curve.h"
#include "experiments/studies/pages/headline.h"

namespace headroom::experiments {
namespace {

bool is_decided(const Verdict& v) { return v.status == VerdictStatus::pass || v.status == VerdictStatus::fail; }

/// Whether the estimate lies where a claim that passes has it.
bool is_beyond(const Verdict& v) { return is_decided(v) ? v.status == VerdictStatus::pass : v.margin >= 0; }

}  // namespace

StudyResults without_first_choices(const StudyResults& results) {
  std::set<const TrialRecord*> first;
  for (const std::string& series : series_names(results))
    for (const Point& point : curve(results, series).points) {
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

std::string second_choices(const StudyResults& results, const std::vector<Verdict>& verdicts) {
  const StudyResults others = without_first_choices(results);
  if (others.trials.size() == results.trials.size()) return "";
  const std::vector<Verdict> seconds = judge(others);
  std::set<std::string> keys;
  for (const TrialRecord& trial : results.trials)
    for (const auto& chosen : trial.choice) keys.insert(last_part(chosen.first));
  int asked = 0, unjudged = 0;
  std::vector<std::string> turned;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    const Verdict &v = verdicts[i], &second = seconds[i];
    if (!is_decided(v) || (v.summary == second.summary && v.status == second.status)) continue;
    ++asked;
    if (second.status == VerdictStatus::not_run || !second.is_learned || std::isnan(second.margin)) ++unjudged;
    else if (is_beyond(second) != is_beyond(v))
      turned.push_back(fmt::format("“{}”{} ({})", in_words(v.claim), subject_in_brackets(v.claim), second.summary));
  }
  if (asked == 0) return "";
  const int kept = asked - unjudged - static_cast<int>(turned.size());
  std::string out = fmt::format(
      "With the second-best value of {} at every x, {} of {} decided {} {} side of the threshold",
      fmt::join(keys, ", "), kept, asked, asked == 1 ? "verdict" : "verdicts", kept == 1 ? "keeps its" : "keep their");
  if (unjudged > 0) out += fmt::format(", {} cannot be judged", unjudged);
  if (!turned.empty()) out += fmt::format("; the other side has {}", fmt::join(turned, ", "));
  return out + ".";
}

}  // namespace headroom::experiments
