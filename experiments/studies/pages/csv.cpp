#include "experiments/studies/pages/csv.h"

#include <fmt/format.h>

#include <set>

#include "experiments/output/text.h"
#include "experiments/studies/analysis/curve.h"
#include "tasks/task.h"

namespace headroom::experiments {
namespace {

std::string cell(const std::map<std::string, double>& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? "" : fmt::format("{}", found->second);
}

void add_keys(std::set<std::string>& keys, const std::map<std::string, double>& values, Clock clock) {
  for (const auto& entry : values)
    if (clock == Clock::kept || !tasks::is_clock_metric(entry.first)) keys.insert(entry.first);
}

}  // namespace

std::string csv(const Analysis& results, Clock clock) {
  const std::vector<const TrialRecord*> trials = ordered_trials(results);
  std::set<std::string> choices, validation, test;
  for (const TrialRecord* t : trials) {
    add_keys(choices, t->choice, Clock::kept);
    add_keys(validation, t->validation, clock);
    add_keys(test, t->test, clock);
  }

  std::vector<std::string> heads = {"series", results.report.x_key};
  for (const std::string& key : choices) heads.push_back(key);
  for (const char* key : {"seed", "status", "chosen", "parameters", "flops"}) heads.emplace_back(key);
  if (clock == Clock::kept) heads.emplace_back("seconds");
  for (const std::string& key : validation) heads.push_back("validation." + key);
  for (const std::string& key : test) heads.push_back("test." + key);
  heads.insert(heads.end(), {"id", "message"});

  std::string out = csv_row(heads);
  for (const TrialRecord* trial : trials) {
    const TrialRecord& t = *trial;
    std::vector<std::string> row = {t.series, fmt::format("{}", t.x)};
    for (const std::string& key : choices) row.push_back(cell(t.choice, key));
    const bool chosen = results.curve(t.series).at(t.x)->choice == t.choice;
    row.insert(row.end(), {fmt::format("{}", t.seed), name_of(t.status), chosen ? "yes" : "no",
                           fmt::format("{}", t.parameters), fmt::format("{}", t.flops)});
    if (clock == Clock::kept) row.push_back(fmt::format("{}", t.seconds));
    for (const std::string& key : validation) row.push_back(cell(t.validation, key));
    for (const std::string& key : test) row.push_back(cell(t.test, key));
    row.insert(row.end(), {t.id, t.message});
    out += csv_row(row);
  }
  return out;
}

}  // namespace headroom::experiments
