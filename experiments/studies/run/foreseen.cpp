#include "experiments/studies/run/foreseen.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "experiments/output/number.h"
#include "experiments/studies/analysis/analysis.h"
#include "experiments/studies/config/metrics.h"
#include "experiments/studies/run/runner.h"
#include "experiments/studies/words/verdict_words.h"

namespace headroom::experiments {
namespace {

using Values = std::map<std::tuple<std::string, double, std::string>, std::set<double>>;  // of each key at an x

/// How many steps of their grids the values of a trial are from the middle.
double steps_off(const PlannedTrial& trial, const Values& values) {
  double off = 0;
  for (const auto& [key, value] : trial.choice) {
    const std::set<double>& all = values.at({trial.series, trial.x, key});
    const auto place = static_cast<double>(std::distance(all.begin(), all.find(value)));
    off += std::abs(place - static_cast<double>((all.size() - 1) / 2));
  }
  return off;
}

/// A trial that learned its target, the better the nearer its values are to the middle of their grids.
TrialRecord made_up(const PlannedTrial& trial, const Values& values) {
  TrialRecord record;
  static_cast<PlanEntry&>(record) = trial;
  record.config = canonical_json(trial.config);
  if (trial.config.train_record != "{}") record.steps = trial.config.train.steps;
  const double noise = 0.01 * static_cast<double>(trial.place * 7919 % 97) / 97;  // of seeds: it decides nothing
  const double error = 1e-4 * (1 + steps_off(trial, values) + noise);
  for (const std::string& name : metric_names(trial.config))
    record.test[name] = tasks::larger_is_better(name) ? 1 / error : error;
  record.validation = record.test;
  if (!tasks::is_tested_on_validation(trial.config.task))
    for (auto& metric : record.validation) metric.second *= 1.001;
  return record;
}

}  // namespace

std::vector<std::string> undecidable(const Study& study) {
  if (study.head.claims.empty()) return {};
  const int64_t first = study.seed_rule ? study.seed_rule->from + study.seed_rule->first : 0;
  std::vector<const PlannedTrial*> trials;
  for (const auto* some : {&study.trials, &study.later})
    for (const PlannedTrial& trial : *some)
      if (!study.seed_rule || trial.seed < first) trials.push_back(&trial);
  Values values;
  for (const PlannedTrial* trial : trials)
    for (const auto& [key, value] : trial->choice) values[{trial->series, trial->x, key}].insert(value);
  StudyResults results = planned_results(study);
  for (const PlannedTrial* trial : trials) results.trials.push_back(made_up(*trial, values));
  std::map<std::string, std::vector<std::string>> claims;  // by what stands against them
  const Analysis judged = analyse(std::move(results));
  for (const Verdict& verdict : judged.verdicts())
    for (const Hindrance& one : verdict.hindrances)
      claims[fmt::format("{}; {}", one.reason.empty() ? "one seed decides nothing" : one.reason, remedy(one))]
          .push_back(claim_name(verdict.claim));
  std::vector<std::string> lines;
  for (const auto& [why, names] : claims)
    lines.push_back(fmt::format("no result can decide {} ({}): {}", counted(std::ssize(names), "claim"),
                                fmt::join(names, "; "), why));
  return lines;
}

}  // namespace headroom::experiments
