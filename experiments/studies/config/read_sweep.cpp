#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "experiments/studies/config/sweep.h"
#include "experiments/studies/toml/document.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

using Role = SweepAxis::Role;

constexpr const char* form = "expected a list of values, { best_of = [values] }, or { values = [...], names = [...] }";

bool is_path_of_trial(const std::string& path) {
  const std::string table = path.substr(0, path.find('.'));
  return table != path && (table == "task" || table == "model" || table == "train");
}

/// The keys of [sweep] as written.
struct Parts {
  const Value *seed, *zip, *points;
  std::vector<std::string> constraints;
  std::vector<const Entry*> axes;
};

Parts take_parts(Reader& in) {
  Parts parts{};
  parts.seed = in.raw("seed",
                      "seeds of weights, data order and dropout: a list of integers, or { from, until = \"decided\", "
                      "first = 3, at_most = 24 }: more of them while a claim is undecided");
  parts.zip = in.raw("zip", "groups of swept keys that go together, position by position: [[\"KEY\", \"KEY\"], ...]");
  parts.points = in.raw("points", "{ KEY = value, ... } each, all with the same keys; name = \"...\" names one");
  parts.constraints = in.texts("constraint", "expressions over keys of a trial; a trial where one is 0 is left out");
  parts.axes = in.others("KEY",
                         "a key of task, model or train: [values], { best_of = [values] }, { best_of = { from, to, "
                         "times, extend, refine, limits } }, { values, names }");
  return parts;
}

/// Refuses a long list before looking at its values: that many trials could not be trained.
bool is_too_long(const Value& list, const std::string& path, Complaints& problems) {
  constexpr size_t most_values = 100000;
  const bool is_long = list.kind == Value::Kind::list && list.list.size() > most_values;
  if (is_long)
    problems.add(list.place, path, fmt::format("has {} values; expected at most {}", list.list.size(), most_values));
  return is_long;
}

void read_seeds(Reader& in, const Value* list, Sweep& sweep) {
  if (!list) return;
  sweep.seeds.clear();
  if (list->kind == Value::Kind::table) {
    sweep.seed_rule = read_seed_rule(*list, in.problems());
    for (int64_t i = 0; i < sweep.seed_rule->at_most; ++i) sweep.seeds.push_back(sweep.seed_rule->from + i);
    return;
  }
  if (list->kind != Value::Kind::list || list->list.empty()) in.complain("seed", "expected a list of integers >= 0");
  if (is_too_long(*list, "sweep.seed", in.problems())) return sweep.seeds.push_back(0);
  std::set<int64_t> seen;
  for (const Value& value : list->list) {
    if (value.kind != Value::Kind::integer || value.integer < 0)
      in.problems().add(value.place, "sweep.seed", fmt::format("expected integers >= 0, got {}", to_text(value)));
    else if (!seen.insert(value.integer).second)
      in.problems().add(value.place, "sweep.seed", fmt::format("{} is given twice", value.integer));
    sweep.seeds.push_back(value.integer);
  }
}

/// The names of { values, names }.
void read_names(const Entry& names, const std::string& path, SweepAxis& axis, Complaints& problems) {
  const auto is_text = [](const Value& value) { return value.kind == Value::Kind::text && !value.text.empty(); };
  const std::vector<Value>& list = names.value.list;
  if (list.size() != axis.positions.size() || !std::all_of(list.begin(), list.end(), is_text))
    return problems.add(names.place, path + ".names", "expected a string for each of the values");
  for (size_t i = 0; i < list.size(); ++i) axis.positions[i].name = list[i].text;
}

/// One key of the grid.
void read_axis(const Entry& entry, Sweep& sweep, Complaints& problems) {
  const std::string path = "sweep." + entry.key;
  if (!is_path_of_trial(entry.key)) return problems.add_unknown(entry.place, path);
  SweepAxis axis{.paths = {entry.key}, .places = {entry.place}, .positions = {}};
  const Entry* best_of = entry.value.find("best_of");
  const Entry* values = best_of ? best_of : entry.value.find("values");
  axis.best_of = best_of != nullptr;
  const bool is_grid = best_of && best_of->value.kind == Value::Kind::table;
  if (is_grid) axis.positions = read_grid(best_of->value, path + ".best_of", problems);
  const Value& list = values ? values->value : entry.value;
  if (!is_grid && (list.kind != Value::Kind::list || list.list.empty())) return problems.add(entry.place, path, form);
  if (is_too_long(list, path, problems)) return;
  std::set<std::string> seen;
  for (const Value& value : list.list) {
    if (!seen.insert(in_line(value)).second)
      problems.add(value.place, path, fmt::format("{} is given twice", in_line(value)));
    if (best_of && !value.is_number())
      problems.add(value.place, path, fmt::format("best_of needs numbers, got {}", to_text(value)));
    else axis.positions.push_back({{value}, ""});
  }
  if (const Entry* names = best_of ? nullptr : entry.value.find("names")) read_names(*names, path, axis, problems);
  for (const Entry& other : entry.value.table)
    if (&other != values && (best_of || other.key != "names"))
      problems.add_unknown(other.place, path + "." + other.key);
  if (!axis.positions.empty()) sweep.axes.push_back(std::move(axis));
}

bool extends(const SweepAxis& axis) {
  return std::any_of(axis.positions.begin(), axis.positions.end(),
                     [](const SweepAxis::Position& position) { return position.is_later; });
}

/// Joins the axes of one zipped group into the first of them.
void zip_axes(const Value& group, Sweep& sweep, Complaints& problems) {
  SweepAxis joined;
  for (const Value& path : group.list) {
    const auto axis = std::find_if(sweep.axes.begin(), sweep.axes.end(), [&](const SweepAxis& candidate) {
      return path.kind == Value::Kind::text && candidate.paths == std::vector<std::string>{path.text};
    });
    if (axis == sweep.axes.end())
      return problems.add(path.place, "sweep.zip", fmt::format("{} is no key of this sweep", to_text(path)));
    if (joined.paths.empty()) {
      joined = *axis;
    } else if (extends(*axis) || extends(joined)) {
      problems.add(path.place, "sweep.zip", "a best_of that is to be extended cannot be zipped");
    } else if (axis->positions.size() != joined.positions.size() || axis->best_of != joined.best_of) {
      problems.add(path.place, "sweep.zip",
                   fmt::format("{} has {} values{}, {} has {}{}: zipped keys must match in number and form",
                               joined.paths[0], joined.positions.size(), joined.best_of ? " to choose from" : "",
                               axis->paths[0], axis->positions.size(), axis->best_of ? " to choose from" : ""));
    } else {
      joined.paths.push_back(axis->paths[0]);
      joined.places.push_back(axis->places[0]);
      for (size_t i = 0; i < joined.positions.size(); ++i)
        joined.positions[i].values.push_back(axis->positions[i].values[0]);
    }
    sweep.axes.erase(axis);
  }
  if (!joined.paths.empty()) sweep.axes.push_back(std::move(joined));
}

void read_points(Reader& in, const Value* list, Sweep& sweep) {
  if (!list || list->list.empty()) return;
  SweepAxis axis;
  for (const Value& point : list->list) {
    SweepAxis::Position position;
    std::vector<Entry> keys = leaves_of(
        point, [](const std::string& path, const Value& table) { return table.is_inline && is_path_of_trial(path); });
    for (const Entry& key : keys)
      if (key.key == "name") position.name = key.value.text;
      else if (!is_path_of_trial(key.key)) in.problems().add_unknown(key.place, "sweep.points." + key.key);
    std::erase_if(keys, [](const Entry& key) { return key.key == "name" || !is_path_of_trial(key.key); });
    std::sort(keys.begin(), keys.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
    std::vector<std::string> paths;
    for (const Entry& key : keys) {
      paths.push_back(key.key);
      position.values.push_back(key.value);
      if (axis.positions.empty()) axis.places.push_back(key.place);
    }
    if (axis.positions.empty()) axis.paths = paths;
    if (paths.empty() || paths != axis.paths)
      in.problems().add(
          point.place, "sweep.points",
          fmt::format("has the keys {}; the first point has {}", fmt::join(paths, ", "), fmt::join(axis.paths, ", ")));
    else axis.positions.push_back(std::move(position));
  }
  if (!axis.positions.empty()) sweep.axes.push_back(std::move(axis));
}

/// Decides which axis is x, which ones choose, and which ones make curves.
void assign_roles(Sweep& sweep, const std::string& x_key, Complaints& problems) {
  std::vector<SweepAxis*> plain;
  bool has_x = false;
  for (SweepAxis& axis : sweep.axes) {
    const auto at = std::find(axis.paths.begin(), axis.paths.end(), x_key);
    axis.role = axis.best_of ? Role::choice : Role::curve;
    if (at != axis.paths.end()) {
      has_x = true;
      axis.role = Role::x;
      if (axis.best_of)
        problems.add(axis.places[0], "sweep." + axis.paths[0], "is the report's x axis: it cannot be a best_of");
    } else if (!axis.best_of) {
      plain.push_back(&axis);
    }
  }
  if (has_x || x_key.empty()) return;
  if (plain.size() == 1) plain[0]->role = Role::x;  // x is the value of x_key on this axis
  if (plain.size() > 1)
    problems.add(sweep.place, "sweep",
                 fmt::format("does not sweep the report's x axis, {}, but more than one other key", x_key));
}

void check_paths(const Sweep& sweep, Complaints& problems) {
  std::set<std::string> seen;
  for (const SweepAxis& axis : sweep.axes)
    for (size_t i = 0; i < axis.paths.size(); ++i)
      if (!seen.insert(axis.paths[i]).second) problems.add(axis.places[i], "sweep." + axis.paths[i], "is swept twice");
}

}  // namespace

void describe_sweep(Reader& in) { take_parts(in); }

Sweep read_sweep(const Value& root, const std::string& x_key, Complaints& problems) {
  Sweep sweep;
  const Entry* entry = root.find("sweep");
  if (!entry) return sweep;  // one trial per series
  sweep.place = entry->place;
  if (entry->value.kind != Value::Kind::table) {
    problems.add(entry->place, "sweep", fmt::format("expected a table, got {}", name_of(entry->value.kind)));
    return sweep;
  }
  Reader in(entry->value, "sweep", problems);
  const Parts parts = take_parts(in);
  read_seeds(in, parts.seed, sweep);
  for (const std::string& text : parts.constraints) sweep.constraints.push_back({text, in.place("constraint")});
  for (const Entry* axis : parts.axes) read_axis(*axis, sweep, problems);
  if (parts.zip && parts.zip->kind != Value::Kind::list) in.complain("zip", "expected a list of lists of keys");
  for (const Value& group : parts.zip ? parts.zip->list : std::vector<Value>{}) {
    if (group.kind == Value::Kind::list && group.list.size() > 1) zip_axes(group, sweep, problems);
    else problems.add(group.place, "sweep.zip", "expected lists of at least two keys: [[\"KEY\", \"KEY\"], ...]");
  }
  read_points(in, parts.points, sweep);
  check_paths(sweep, problems);
  assign_roles(sweep, x_key, problems);
  std::stable_partition(sweep.axes.begin(), sweep.axes.end(),
                        [](const SweepAxis& axis) { return axis.role == Role::curve; });
  return sweep;
}

void flatten_sweeps(Value& document) {
  for (Entry& entry : document.table) {
    if (entry.key == "sweep") {
      entry.value.table = leaves_of(entry.value, [](const std::string& path, const Value& table) {
        return path == "seed" || table.is_inline || table.find("best_of") || table.find("values");
      });
    } else if (entry.key == "series") {
      for (Value& series : entry.value.list) flatten_sweeps(series);
    } else if (entry.key == "profile") {
      for (Entry& profile : entry.value.table) flatten_sweeps(profile.value);
    }
  }
}

}  // namespace headroom::experiments
