#include "experiments/studies/run/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "experiments/output/number.h"
#include "experiments/studies/analysis/analysis.h"
#include "experiments/studies/claims/looks.h"
#include "experiments/studies/run/runner.h"
#include "experiments/studies/run/store.h"

namespace headroom::experiments {
namespace {

/// Number of the rule's seeds before a trial's; 0 for a study without a rule.
int64_t seeds_before(const Study& study, const PlannedTrial& trial) {
  return study.seed_rule ? trial.seed - study.seed_rule->from : 0;
}

bool is_of_first_seeds(const Study& study, const PlannedTrial& trial) {
  return !study.seed_rule || seeds_before(study, trial) < study.seed_rule->first;
}

/// Of the grids as they are written and widened: refinement and later seeds come after.
bool is_of_grids(const Study& study, const PlannedTrial& trial) {
  return is_of_first_seeds(study, trial) && !trial.is_between;
}

/// Moves trials that `wanted` picks from `later` to the plan; returns their number.
template <class F>
int64_t add_trials(Study& study, const F& wanted) {
  std::vector<PlannedTrial> rest;
  const auto before = std::ssize(study.trials);
  for (PlannedTrial& trial : study.later) {
    const bool is_wanted = wanted(trial);
    (is_wanted ? study.trials : rest).push_back(std::move(trial));
  }
  study.later = std::move(rest);
  std::inplace_merge(study.trials.begin(), study.trials.begin() + before, study.trials.end(),
                     [](const PlannedTrial& a, const PlannedTrial& b) { return a.place < b.place; });
  return std::ssize(study.trials) - before;
}

/// "heads = 4, 8 of wide": the places that a round changes.
std::string places_text(const Study& study, const std::string& series, const std::set<double>& xs) {
  std::vector<std::string> at;
  for (const double x : xs) at.push_back(exact(x));
  return fmt::format("{} = {}{}", last_part(study.head.report.x_key), fmt::join(at, ", "),
                     series.empty() ? "" : " of " + series);
}

/// A value of a key in a series; a round adds it at some x.
struct GridValue {
  std::string series, key;
  double value = 0;
  auto operator<=>(const GridValue&) const = default;
};
using AddedValues = std::map<GridValue, std::set<double>>;  // → x

void note_values(Rounds& rounds, int64_t count, const AddedValues& added) {
  std::vector<std::string> parts;
  for (const auto& [at, xs] : added)
    parts.push_back(
        fmt::format("{} {} at {}", last_part(at.key), exact(at.value), places_text(rounds.study, at.series, xs)));
  rounds.notes.push_back(fmt::format("round {}: {} more trials: {}", ++rounds.round, count, fmt::join(parts, "; ")));
}

/// The choice by validation at each x.
std::map<SeriesAndX, std::map<std::string, double>> choices_of(const Study& study, const Analysis& results) {
  std::map<SeriesAndX, std::map<std::string, double>> chosen;
  for (const std::string& series : study.series)
    for (const Point& point : results.curve(series).points) chosen[{series, point.x}] = point.choice;
  return chosen;
}

/// The planned and the possible values at one x of a series.
struct GridAtX {
  std::map<std::string, std::set<double>> tried, untried;  ///< key → values
};

std::map<SeriesAndX, GridAtX> grids_of(const Study& study) {
  std::map<SeriesAndX, GridAtX> grids;
  for (const PlannedTrial& trial : study.trials)
    for (const auto& [key, value] : trial.choice) grids[{trial.series, trial.x}].tried[key].insert(value);
  for (const PlannedTrial& trial : study.later) {
    if (!is_of_grids(study, trial)) continue;
    GridAtX& grid = grids[{trial.series, trial.x}];
    for (const auto& [key, value] : trial.choice)
      if (!grid.tried[key].contains(value)) grid.untried[key].insert(value);
  }
  return grids;
}

/// The next value beyond the end at which `value` stands; none if the grid ends there.
std::optional<double> beyond(const GridAtX& grid, const std::string& key, double value) {
  const auto untried = grid.untried.find(key);
  const std::set<double>& tried = grid.tried.at(key);
  if (untried == grid.untried.end()) return std::nullopt;
  if (value == *tried.begin()) {
    const auto next = untried->second.lower_bound(value);
    if (next != untried->second.begin()) return *std::prev(next);
  }
  if (value == *tried.rbegin())
    if (const auto next = untried->second.upper_bound(value); next != untried->second.end()) return *next;
  return std::nullopt;
}

/// Adds what the grids lack whose choice stands at an end. False when there is nothing to add; then every choice at an
/// end of a grid that was to be extended is noted.
bool widen_grids(Rounds& rounds, const Analysis& results) {
  Study& study = rounds.study;
  const std::map<SeriesAndX, GridAtX> grids = grids_of(study);
  std::set<std::string> extended;  // keys with values that are not of the first round
  for (const auto* trials : {&study.later, &study.trials})
    for (const PlannedTrial& trial : *trials)
      if (trial.is_later && is_of_grids(study, trial))
        for (const auto& [key, value] : trial.choice) extended.insert(key);
  AddedValues wider, stuck;
  for (const std::string& series : study.series) {
    for (const Point& point : results.curve(series).points)
      for (const std::string& key : point.edges) {
        const double value = point.choice.at(key);
        const std::optional<double> next = beyond(grids.at({series, point.x}), key, value);
        if (next) wider[{series, key, *next}].insert(point.x);
        else if (extended.contains(key)) stuck[{series, key, value}].insert(point.x);
      }
  }
  if (wider.empty()) {
    for (const auto& [at, xs] : stuck)
      rounds.notes.push_back(fmt::format("the best {} at {} is {}, and its grid may not be extended beyond that",
                                         last_part(at.key), places_text(study, at.series, xs), exact(at.value)));
    return false;
  }
  const int64_t count = add_trials(study, [&](const PlannedTrial& trial) {
    if (!is_of_grids(study, trial)) return false;
    const GridAtX& grid = grids.at({trial.series, trial.x});
    const auto is_in = [&](const std::string& key, double value) {
      if (grid.tried.at(key).contains(value)) return true;
      const auto found = wider.find({trial.series, key, value});
      return found != wider.end() && found->second.contains(trial.x);
    };
    return std::all_of(trial.choice.begin(), trial.choice.end(),
                       [&](const auto& one) { return is_in(one.first, one.second); });
  });
  note_values(rounds, count, wider);
  return true;
}

/// Adds, once, the values between each choice and its neighbours, where the grid has such. False when there is nothing
/// to add.
bool refine_grids(Rounds& rounds, const Analysis& results) {
  Study& study = rounds.study;
  if (std::ranges::any_of(study.trials, &PlannedTrial::is_between)) return false;
  const std::map<SeriesAndX, GridAtX> grids = grids_of(study);
  const auto chosen = choices_of(study, results);
  AddedValues finer;
  const int64_t count = add_trials(study, [&](const PlannedTrial& trial) {
    const auto at = chosen.find({trial.series, trial.x});
    if (!trial.is_between || !is_of_first_seeds(study, trial) || at == chosen.end()) return false;
    std::vector<GridValue> off;  // the values that are not the chosen ones
    for (const auto& [key, value] : trial.choice)
      if (value != at->second.at(key)) off.push_back({trial.series, key, value});
    if (off.size() != 1) return false;
    const std::set<double>& tried = grids.at(at->first).tried.at(off[0].key);
    const double best = at->second.at(off[0].key), value = off[0].value;
    const auto above = tried.upper_bound(value);  // a neighbour of the best, or the best itself
    const bool is_next =
        above != tried.end() && above != tried.begin() && (*above == best || *std::prev(above) == best);
    if (is_next) finer[off[0]].insert(trial.x);
    return is_next;
  });
  if (count == 0) return false;
  note_values(rounds, count, finer);
  return true;
}

/// The series of claims that are undecided by their p-values: those that more seeds might be added to.
std::set<std::string> undecided_series(const Analysis& results) {
  std::set<std::string> undecided;
  for (const Verdict& verdict : results.verdicts()) {
    if (verdict.status != VerdictStatus::undecided || !verdict.is_learned || !verdict.is_tuned) continue;
    for (const std::string& series : series_of(results, verdict.claim)) undecided.insert(series);
  }
  return undecided;
}

/// Adds the trials of a look, which has `seeds` seeds, each x at its choice: where an undecided claim hangs on it that
/// they may decide, and where one is undecided and `records` show that the look was taken. False when there is nothing
/// to add.
bool add_seeds(Rounds& rounds, const Analysis& results, const Records& records, size_t look, int64_t seeds) {
  Study& study = rounds.study;
  const auto chosen = choices_of(study, results);
  const auto is_of_look = [&](const PlannedTrial& trial) {
    return !is_of_first_seeds(study, trial) && seeds_before(study, trial) < seeds &&
           trial.choice == chosen.at({trial.series, trial.x});
  };
  std::set<SeriesAndX> wanted;
  for (const Verdict& verdict : results.verdicts()) wanted.insert(verdict.open.begin(), verdict.open.end());
  const std::set<std::string> undecided = undecided_series(results);
  for (const PlannedTrial& trial : study.later)
    if (undecided.contains(trial.series) && is_of_look(trial) && records.contains(trial.id))
      wanted.insert({trial.series, trial.x});
  std::map<std::string, std::set<double>> added;  // series with further seeds → x: others have their own list
  const int64_t count = add_trials(study, [&](const PlannedTrial& trial) {
    const bool is_added = wanted.contains({trial.series, trial.x}) && is_of_look(trial);
    if (is_added) added[trial.series].insert(trial.x);
    return is_added;
  });
  if (count == 0) return false;
  std::vector<std::string> places;
  for (const auto& [name, xs] : added) {
    for (const double x : xs) rounds.looks.last_of[{name, x}] = look;
    if (xs.size() < results.curve(name).points.size()) places.push_back(places_text(study, name, xs));
    else if (!name.empty()) places.push_back(name);
  }
  rounds.notes.push_back(fmt::format("round {}: {} more trials: seeds up to {} {}for claims that are undecided",
                                     ++rounds.round, count, study.seed_rule->from + seeds - 1,
                                     places.empty() ? "" : fmt::format("of {} ", fmt::join(places, ", "))));
  return true;
}

bool has_ended(const Study& study, const Records& records) {
  return std::all_of(study.trials.begin(), study.trials.end(),
                     [&](const PlannedTrial& trial) { return records.contains(trial.id); });
}

}  // namespace

StudyResults round_results(const Rounds& rounds, const Records& records) {
  StudyResults results = planned_results(rounds.study);
  results.looks = rounds.looks;
  std::set<std::string> lacking;
  for (const PlannedTrial& planned : rounds.study.trials)
    if (!records.contains(planned.id)) lacking.insert(planned.series);
  results.claims_to_come = static_cast<size_t>(std::erase_if(results.claims, [&](const ClaimConfig& claim) {
    return std::ranges::any_of(series_of(results, claim), [&](const auto& one) { return lacking.contains(one); });
  }));
  for (const PlannedTrial& planned : rounds.study.trials)
    if (!lacking.contains(planned.series)) results.trials.push_back(in_place(records.at(planned.id), planned));
  results.planned = count_trials(results.trials);
  return results;
}

void keep_asked_for(Study& study, const std::vector<PlanEntry>& plan, const Records& records) {
  if (plan.empty()) return;
  std::set<std::string> asked;
  for (const PlanEntry& entry : plan) asked.insert(entry.id);
  std::erase_if(study.later, [&](const PlannedTrial& trial) {
    return !is_of_first_seeds(study, trial) && !asked.contains(trial.id) && !records.contains(trial.id);
  });
}

Rounds plan_rounds(const Study& study, const Records& records) {
  Rounds rounds{.study = study};
  std::vector<int64_t> seeds{0};
  if (study.seed_rule) {
    seeds = study.seed_rule->looks();
    rounds.looks.anytime = study.seed_rule->anytime;
    rounds.looks.shares = rounds.looks.anytime ? std::vector<double>(seeds.size(), 1) : shares_of_looks(seeds);
    rounds.looks.at_most = seeds.back();
  }
  size_t look = 0;
  if (study.later.empty()) return rounds;
  while (has_ended(rounds.study, records)) {
    const Analysis results = analyse(round_results(rounds, records));
    if (look == 0 && (widen_grids(rounds, results) || refine_grids(rounds, results))) continue;
    if (look + 1 == seeds.size()) break;
    if (!add_seeds(rounds, results, records, look + 1, seeds[look + 1])) break;
    ++look;
  }
  return rounds;
}

std::vector<const PlannedTrial*> largest_plan(const Study& study) {
  std::vector<const PlannedTrial*> most;
  std::set<std::string> ids;
  std::set<std::tuple<std::string, double, int64_t>> seen;
  for (const PlannedTrial& trial : study.trials)
    if (ids.insert(trial.id).second) most.push_back(&trial);
  std::map<std::tuple<std::string, double, int64_t>, size_t> finer;
  for (const PlannedTrial& trial : study.later) {
    const std::tuple at{trial.series, trial.x, trial.seed};
    if (!is_of_first_seeds(study, trial) && !seen.insert(at).second) continue;  // one of the values
    if (is_of_first_seeds(study, trial) && trial.is_between && ++finer[at] > 2 * trial.choice.size()) continue;
    if (ids.insert(trial.id).second) most.push_back(&trial);
  }
  return most;
}

int64_t most_rounds(const Study& study) {
  size_t wider = 0;  // a round widens each grid by one value at each end
  for (const auto& [at, grid] : grids_of(study))
    for (const auto& [key, values] : grid.untried) wider = std::max(wider, values.size());
  const auto further = study.seed_rule ? study.seed_rule->looks().size() - 1 : 0;
  const bool refines = std::ranges::any_of(study.later, &PlannedTrial::is_between);
  return 1 + static_cast<int64_t>(wider + further + (refines ? 1 : 0));
}

}  // namespace headroom::experiments
