#include "experiments/studies/pages/verdict_change.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "experiments/output/number.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/words/verdict_words.h"

namespace headroom::experiments {
namespace {

/// How far the number that decides is from its threshold.
std::string distance(const Verdict& v) {
  if (std::isinf(v.margin)) return "computed, not sampled: more seeds change nothing";
  const double errors = std::abs(v.margin);
  if (errors < 0.05) return "at the threshold";
  const std::string far = errors > 100  ? "more than 100"
                          : errors < 10 ? fmt::format("{:.1f}", errors)
                                        : fmt::format("{:.0f}", errors);
  return fmt::format("{} standard errors {} the threshold", far, v.margin < 0 ? "short of" : "beyond");
}

/// Whether the estimate is where a claim that passes has it.
bool is_beyond(const Verdict& v) { return is_decided(v) ? v.status == VerdictStatus::pass : v.margin >= 0; }

}  // namespace

std::string what_would_change(const StudyResults& r, const Verdict& v) {
  if (v.status == VerdictStatus::not_run) return "";
  if (!v.is_learned) return "longer training, or a model that learns the target";
  if (!v.is_tuned) return "learning rates tried for each x, on a grid with the best inside";
  if (!v.needs.empty()) return v.needs;
  const bool is_the_papers = source(v.claim) == ClaimSource::paper;
  std::vector<std::string> parts;
  if (!std::isnan(v.margin)) parts.push_back(distance(v));
  if (v.status == VerdictStatus::undecided && !std::isnan(v.margin)) parts.push_back(what_is_open(v));
  if (v.has_choice_at_edge) parts.emplace_back("a wider grid: a chosen value lies at its end");
  if (is_the_papers && !is_pilot(r) && !r.deviations.empty())
    parts.emplace_back("the paper’s own settings: some differ here (above)");
  return fmt::format("{}", fmt::join(parts, "; "));
}

SecondBest second_best(const Analysis& results) {
  const std::vector<Verdict>& verdicts = results.verdicts();
  SecondBest out{"", std::vector<std::string>(verdicts.size())};
  const std::vector<Verdict>& seconds = results.second_verdicts();
  if (seconds.empty()) return out;
  std::set<std::string> keys;
  for (const TrialRecord& trial : results.trials)
    for (const auto& chosen : trial.choice) keys.insert(last_part(chosen.first));
  const std::string key = fmt::format("{}", fmt::join(keys, ", "));
  int asked = 0, unjudged = 0, turned = 0;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    const Verdict &v = verdicts[i], &second = seconds[i];
    if (!is_decided(v) || (summary(v) == summary(second) && v.status == second.status)) continue;
    ++asked;
    if (second.status == VerdictStatus::not_run || !second.is_learned || std::isnan(second.margin)) ++unjudged;
    else if (is_beyond(second) != is_beyond(v)) {
      ++turned;
      out.turned[i] = fmt::format("turns at the second-best {}: {}", key, fmt::join(words_of(second).numbers, ", "));
    }
  }
  if (asked == 0) return out;
  const int kept = asked - unjudged - turned;
  out.sentence = fmt::format("With the second-best value of {} at every x, {} of {} {} side of the threshold{}.", key,
                             kept, counted(asked, "decided verdict"), kept == 1 ? "keeps its" : "keep their",
                             unjudged > 0 ? fmt::format(", {} cannot be judged", unjudged) : "");
  return out;
}

}  // namespace headroom::experiments
