#include "experiments/studies/config/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "engine/excerpt.h"
#include "experiments/studies/config/bind.h"
#include "experiments/studies/toml/document.h"
#include "experiments/studies/toml/expression.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

using Role = SweepAxis::Role;

constexpr size_t most_trials = 100000;

/// The label of one value: "heads=4", "positions=alibi"; a table by its content: "delta alpha=8".
std::string label_of(const std::string& path, const Value& value) {
  if (value.kind == Value::Kind::text) return fmt::format("{}={}", last_word(path), value.text);
  if (value.kind != Value::Kind::table) return fmt::format("{}={}", last_word(path), in_line(value));
  std::vector<std::string> parts;
  for (const Entry& entry : value.table)
    parts.push_back(entry.value.kind == Value::Kind::text ? entry.value.text : label_of(entry.key, entry.value));
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string label_of(const SweepAxis& axis, const SweepAxis::Position& position) {
  if (!position.name.empty()) return position.name;
  std::vector<std::string> parts;
  for (size_t i = 0; i < axis.paths.size(); ++i) parts.push_back(label_of(axis.paths[i], position.values[i]));
  return fmt::format("{}", fmt::join(parts, " "));
}

/// One combination of positions and a seed, before it is bound.
struct Combination {
  PlannedTrial trial;
  std::vector<std::string> curves;  ///< its label on each axis that makes curves
};

/// The table to bind trials from, without the sweep, whose lists would be copied for each trial.
Value without_sweep(const Value& root) {
  Value rest = root;
  std::erase_if(rest.table, [](const Entry& entry) { return entry.key == "sweep"; });
  return rest;
}

/// The position of each axis in combination `index` of `total`, whose seeds are innermost.
std::vector<const SweepAxis::Position*> positions_of(const Sweep& sweep, size_t index, size_t total) {
  std::vector<const SweepAxis::Position*> positions;
  size_t rest = index / sweep.seeds.size(), stride = total / sweep.seeds.size();
  for (const SweepAxis& axis : sweep.axes) {
    stride /= axis.positions.size();
    positions.push_back(&axis.positions[rest / stride]);
    rest %= stride;
  }
  return positions;
}

Value with_positions(Value root, const Sweep& sweep, const std::vector<const SweepAxis::Position*>& positions) {
  for (size_t a = 0; a < sweep.axes.size(); ++a) {
    const SweepAxis& axis = sweep.axes[a];
    for (size_t i = 0; i < axis.paths.size(); ++i)
      set_path(root, split_path(axis.paths[i]), axis.places[i], positions[a]->values[i]);
  }
  return root;
}

Combination combine(const Sweep& sweep, const std::vector<const SweepAxis::Position*>& positions, size_t seed) {
  Combination made;
  PlannedTrial& trial = made.trial;
  for (size_t a = 0; a < sweep.axes.size(); ++a) {
    const SweepAxis& axis = sweep.axes[a];
    if (axis.role == Role::choice)
      for (size_t i = 0; i < axis.paths.size(); ++i) trial.choice[axis.paths[i]] = positions[a]->values[i].number();
    const std::string label = label_of(axis, *positions[a]);
    if (axis.role == Role::curve) made.curves.push_back(label);
    trial.label += label + " ";
    trial.is_later = trial.is_later || positions[a]->is_later;
    trial.is_between = trial.is_between || positions[a]->is_between;
  }
  trial.seed = sweep.seeds[seed];
  trial.is_later = trial.is_later || (sweep.seed_rule && std::cmp_greater_equal(seed, sweep.seed_rule->first));
  trial.label += fmt::format("seed={}", trial.seed);
  return made;
}

std::string no_number(const std::string& path, const Numbers& numbers, const char* of_what) {
  std::set<std::string> known;
  for (const auto& [number, unused] : numbers) known.insert(number);
  const std::string near = nearest_path(path, known);
  return fmt::format("{} is no number of {}{}", path, of_what,
                     near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

/// The reason why a key cannot be on the x axis.
std::string no_x(const std::string& key, const Sweep& sweep, const Numbers& numbers) {
  for (const SweepAxis& axis : sweep.axes)
    if (std::find(axis.paths.begin(), axis.paths.end(), key) != axis.paths.end())
      return fmt::format("the values of {} are no numbers; with another x each of them gets a curve of its own", key);
  return no_number(key, numbers, "the trials");
}

/// The first constraint that a trial breaks; one that cannot be evaluated is a problem.
std::optional<size_t> broken_constraint(const Sweep& sweep, const Numbers& numbers, Complaints& problems) {
  for (size_t i = 0; i < sweep.constraints.size(); ++i) {
    const Constraint& constraint = sweep.constraints[i];
    try {
      const double holds = evaluate(constraint.text, [&](const std::string& name) -> double {
        const auto number = numbers.find(name);
        if (number != numbers.end()) return number->second;
        throw Error(no_number(name, numbers, "the trial"));
      });
      if (holds == 0) return i;
    } catch (const Error& error) {
      problems.add(constraint.place, "sweep.constraint", error.what());
      return i;
    }
  }
  return std::nullopt;
}

void complain_of_none(const Sweep& sweep, const std::vector<size_t>& broken, size_t total, Complaints& problems) {
  for (size_t i = 0; i < broken.size(); ++i)
    if (broken[i] == total)
      return problems.add(sweep.constraints[i].place, "sweep.constraint",
                          fmt::format("no trial meets \"{}\": it is 0 for all {} combinations",
                                      excerpt(sweep.constraints[i].text), total));
  problems.add(sweep.constraints[0].place, "sweep.constraint",
               fmt::format("no trial meets all constraints; {} combinations were tried", total));
}

/// True if, with all other labels equal, the constraints leave each label of a curve axis one x, and each x one label:
/// its curves would have one point each.
bool is_tied_to_x(const std::vector<Combination>& kept, size_t axis) {
  std::map<std::string, std::map<double, std::string>> label_of_x;
  std::map<std::string, std::map<std::string, double>> x_of_label;
  std::set<double> all;
  for (const Combination& made : kept) {
    std::vector<std::string> others = made.curves;
    const std::string label = std::exchange(others[axis], "");
    const std::string key = fmt::format("{}", fmt::join(others, "\n"));
    const double x = made.trial.x;
    all.insert(x);
    if (label_of_x[key].emplace(x, label).first->second != label) return false;
    if (x_of_label[key].emplace(label, x).first->second != x) return false;
  }
  return all.size() > 1;
}

/// The curve of each trial: the name of the [[series]], and the labels on the axes that make curves.
void name_curves(std::vector<Combination>& kept, const Sweep& sweep, const std::string& series) {
  std::vector<bool> is_tied(kept.empty() ? 0 : kept[0].curves.size());
  for (size_t axis = 0; axis < is_tied.size(); ++axis)
    is_tied[axis] = !sweep.constraints.empty() && is_tied_to_x(kept, axis);
  for (Combination& made : kept) {
    std::string& name = made.trial.series = series;
    for (size_t axis = 0; axis < is_tied.size(); ++axis)
      if (!is_tied[axis]) name += (name.empty() ? "" : ", ") + made.curves[axis];
  }
}

/// Refuses two trials at one place of a curve, which would be averaged like two seeds, and one trial at two places,
/// which would be compared with itself.
void check_distinct(const std::vector<PlannedTrial>& trials, const Sweep& sweep, Complaints& problems) {
  std::map<std::string, const PlannedTrial*> places, ids;
  for (const PlannedTrial& trial : trials) {
    const auto [same, is_new_id] = ids.emplace(trial.series + "\n" + trial.id, &trial);
    if (!is_new_id)
      return problems.add(sweep.place, "sweep",
                          fmt::format("\"{}\" and \"{}\" are one trial: the keys that differ change nothing in it",
                                      excerpt(same->second->label), excerpt(trial.label)));
    std::string at = fmt::format("{}\n{}\n{}", trial.series, trial.x, trial.seed);
    for (const auto& [key, value] : trial.choice) at += fmt::format("\n{}={}", key, value);
    const auto [known, is_new] = places.emplace(at, &trial);
    if (!is_new)
      return problems.add(sweep.place, "sweep",
                          fmt::format("two trials have x = {}: \"{}\" and \"{}\"; one more key must tell them apart",
                                      trial.x, excerpt(known->second->label), excerpt(trial.label)));
  }
}

}  // namespace

std::vector<PlannedTrial> expand(const Value& root, const Sweep& sweep, const std::string& x_key,
                                 const std::string& series, Complaints& problems) {
  size_t total = sweep.seeds.size();
  for (const SweepAxis& axis : sweep.axes) total = std::min(total * axis.positions.size(), most_trials + 1);
  if (total > most_trials) {
    problems.add(sweep.place, "sweep", fmt::format("gives more than {} trials", most_trials));
    return {};
  }
  const Value fixed = without_sweep(root);
  std::vector<Combination> kept;
  std::vector<size_t> broken(sweep.constraints.size());
  Complaints of_dropped;  // shown only when no trial is left
  for (size_t index = 0; index < total; index += sweep.seeds.size()) {
    const std::vector<const SweepAxis::Position*> positions = positions_of(sweep, index, total);
    Complaints of_trial;
    Numbers numbers;
    const TrialConfig config = bind_trial(with_positions(fixed, sweep, positions), 0, of_trial, &numbers);
    const std::optional<size_t> constraint = broken_constraint(sweep, numbers, problems);
    if (constraint) broken[*constraint] += sweep.seeds.size();
    (constraint ? of_dropped : problems).add_all(of_trial);
    if (constraint) continue;
    const auto x = numbers.find(x_key);
    if (x == numbers.end() && !x_key.empty() && of_trial.empty())
      problems.add(sweep.place, "report.x.key", no_x(x_key, sweep, numbers));
    for (size_t seed = 0; seed < sweep.seeds.size(); ++seed) {
      kept.push_back(combine(sweep, positions, seed));
      PlannedTrial& trial = kept.back().trial;
      trial.config = config;
      trial.config.seed = trial.seed;
      if (x != numbers.end()) trial.x = x->second;
      trial.id = trial_id(trial.config);
    }
  }
  name_curves(kept, sweep, series);
  std::vector<PlannedTrial> trials;
  bool has_first = false;
  for (Combination& made : kept) {
    has_first = has_first || !made.trial.is_later;
    trials.push_back(std::move(made.trial));
  }
  if (!trials.empty() && !has_first && problems.empty())
    problems.add(sweep.place, "sweep", "no trial of the first round meets the constraints");
  if (trials.empty() && problems.empty()) {
    problems.add_all(of_dropped);
    if (total > 0) complain_of_none(sweep, broken, total, problems);
  }
  if (problems.empty()) check_distinct(trials, sweep, problems);
  return trials;
}

}  // namespace headroom::experiments
