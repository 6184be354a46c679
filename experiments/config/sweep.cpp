#include "experiments/config/sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "experiments/config/bind.h"

namespace headroom::experiments {
namespace {

constexpr size_t most_trials = 100000;

void check_values(const std::string& path, const Place& place, const Value& list, Problems& problems) {
  if (list.kind != Value::Kind::list || list.list.empty()) {
    problems.add(place, path, "wants a list of values, or { best_of = [values] }");
    return;
  }
  std::set<std::string> seen;
  for (const Value& value : list.list)
    if (!seen.insert(to_text(value)).second)
      problems.add(value.place, path, fmt::format("{} is given twice", to_text(value)));
}

void read_seeds(const Entry& entry, Sweep& sweep, Problems& problems) {
  check_values("sweep.seed", entry.place, entry.value, problems);
  sweep.seeds.clear();
  for (const Value& value : entry.value.list) {
    if (value.kind != Value::Kind::integer || value.integer < 0)
      problems.add(value.place, "sweep.seed", fmt::format("wants integers >= 0, got {}", to_text(value)));
    sweep.seeds.push_back(value.integer);
  }
}

/// Axes may be written `"model.heads" = …` or `model.heads = …`.
void read_axes(const Value& table, const std::string& prefix, Sweep& sweep, Problems& problems) {
  for (const Entry& entry : table.table) {
    const std::string path = prefix + entry.key;
    if (path == "seed") {
      read_seeds(entry, sweep, problems);
      continue;
    }
    const bool is_table = entry.value.kind == Value::Kind::table;
    const Entry* best_of = entry.value.find("best_of");
    if (is_table && !best_of && !entry.value.is_inline) {
      read_axes(entry.value, path + ".", sweep, problems);
      continue;
    }
    if (best_of) {
      for (const Entry& other : entry.value.table)
        if (other.key != "best_of") problems.add_unknown(other.place, "sweep." + path + "." + other.key);
    }
    const Value& values = best_of ? best_of->value : entry.value;
    check_values("sweep." + path, entry.place, values, problems);
    for (const SweepAxis& axis : sweep.axes)
      if (axis.path == path) problems.add(entry.place, "sweep." + path, "is swept twice");
    sweep.axes.push_back({path, entry.place, values.list, best_of != nullptr});
  }
}

std::string last_word(const std::string& path) { return path.substr(path.rfind('.') + 1); }

void check_axes(const Sweep& sweep, const std::string& x_key, const Place& sweep_place, Problems& problems) {
  bool has_x = false;
  for (const SweepAxis& axis : sweep.axes) {
    const bool is_x = axis.path == x_key;
    has_x = has_x || is_x;
    if (is_x && axis.best_of)
      problems.add(axis.place, "sweep." + axis.path, "is the report's x axis: it cannot be a best_of");
    if (!is_x && !axis.best_of && !x_key.empty())
      problems.add(
          axis.place, "sweep." + axis.path,
          fmt::format("is neither the report's x axis ({}) nor a best_of; for a second curve write a [[series]]",
                      x_key));
    for (const Value& value : axis.values)
      if (!value.is_number())
        problems.add(value.place, "sweep." + axis.path, fmt::format("wants numbers, got {}", to_text(value)));
  }
  if (!has_x && !x_key.empty())
    problems.add(sweep_place, "sweep", fmt::format("does not sweep the report's x axis, {}", x_key));
}

/// Axes without the values that are no numbers, so that a wrong one does not hide what else is wrong with the file.
std::vector<SweepAxis> usable(std::vector<SweepAxis> axes) {
  for (SweepAxis& axis : axes) std::erase_if(axis.values, [](const Value& value) { return !value.is_number(); });
  std::erase_if(axes, [](const SweepAxis& axis) { return axis.values.empty(); });
  return axes;
}

}  // namespace

Sweep read_sweep(const Value& root, Problems& problems) {
  Sweep sweep;
  problems.know("sweep.seed");
  const Entry* entry = root.find("sweep");
  if (!entry) {
    problems.add(root.place, "sweep", "missing table");
  } else if (entry->value.kind != Value::Kind::table) {
    problems.add(entry->place, "sweep", fmt::format("wants a table, got {}", name_of(entry->value.kind)));
  } else {
    read_axes(entry->value, "", sweep, problems);
  }
  return sweep;
}

std::vector<PlannedTrial> expand(const Value& root, const Sweep& sweep, const std::string& x_key,
                                 const std::string& series, Problems& problems) {
  const Entry* table = root.find("sweep");
  check_axes(sweep, x_key, table ? table->place : root.place, problems);
  const std::vector<SweepAxis> axes = usable(sweep.axes);
  size_t total = sweep.seeds.size();
  for (const SweepAxis& axis : axes) total = std::min(total * axis.values.size(), most_trials + 1);
  if (total > most_trials) {
    problems.add(table ? table->place : root.place, "sweep", fmt::format("gives more than {} trials", most_trials));
    return {};
  }
  std::vector<PlannedTrial> trials;
  for (size_t index = 0; index < total; ++index) {
    PlannedTrial trial;
    trial.series = series;
    Value bound = root;
    size_t rest = index / sweep.seeds.size(), stride = total / sweep.seeds.size();
    for (const SweepAxis& axis : axes) {
      stride /= axis.values.size();
      const Value& value = axis.values[rest / stride];
      rest %= stride;
      set_path(bound, split_path(axis.path), axis.place, value);
      if (axis.best_of) trial.choice[axis.path] = value.number();
      else trial.x = value.number();
      trial.label += fmt::format("{}={} ", last_word(axis.path), to_text(value));
    }
    trial.seed = sweep.seeds[index % sweep.seeds.size()];
    trial.label += fmt::format("seed={}", trial.seed);
    trial.config = bind_trial(bound, trial.seed, problems);
    trial.id = trial_id(trial.config);
    trials.push_back(std::move(trial));
  }
  return trials;
}

}  // namespace headroom::experiments
