#include "experiments/tools/judge/readers/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/error.h"

namespace headroom::experiments {
namespace {

/// What a column is in one table.
struct TableColumn {
  ColumnSort sort = ColumnSort::other;
  bool has_role = false;   ///< that of a parameter
  bool is_number = false;  ///< every cell is, where there is one
  bool is_full = true;     ///< no cell is empty
  size_t values = 0;       ///< different ones
};

std::vector<TableColumn> sorted_columns(const RunTable& table, const RunRoles& roles) {
  std::vector<TableColumn> columns(table.columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string& name = table.columns[i];
    TableColumn& column = columns[i];
    column.sort = sort_of_name(name);
    column.has_role = roles.names(name);
    if (name == roles.metric || name == roles.choose || roles.claimed.contains(name)) column.sort = ColumnSort::metric;
    for (const auto& [role, sort] : {std::pair{&roles.step, ColumnSort::step},
                                     {&roles.run, ColumnSort::run},
                                     {&roles.status, ColumnSort::status},
                                     {&roles.seed, ColumnSort::seed}})
      if (*role == name) column.sort = sort;
      else if (!role->empty() && column.sort == sort) column.sort = ColumnSort::other;
    std::set<std::string> values;
    column.is_number = true;
    for (const RunTable::Row& row : table.rows) {
      column.is_full = column.is_full && !row.cells[i].empty();
      if (row.cells[i].empty()) continue;
      values.insert(row.cells[i]);
      column.is_number = column.is_number && foreign_number(row.cells[i]);
    }
    column.values = values.size();
    column.is_number = column.is_number && column.values > 0;
    if (column.has_role && column.sort != ColumnSort::seed) column.sort = ColumnSort::other;
  }
  return columns;
}

/// The rows of each run, in their order, by the text of the cells in `key`.
std::vector<std::vector<const RunTable::Row*>> grouped(const RunTable& table, const std::vector<size_t>& key) {
  std::map<std::vector<std::string>, size_t> places;
  std::vector<std::vector<const RunTable::Row*>> groups;
  for (const RunTable::Row& row : table.rows) {
    std::vector<std::string> own;
    for (const size_t i : key) own.push_back(row.cells[i]);
    const auto [place, is_new] = places.emplace(std::move(own), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(&row);
  }
  return groups;
}

/// Whether two rows of one group give a metric at one step.
bool has_repeats(const std::vector<std::vector<const RunTable::Row*>>& groups, const std::vector<TableColumn>& columns,
                 size_t step) {
  for (const auto& group : groups) {
    std::set<std::pair<std::string, size_t>> given;
    for (const RunTable::Row* row : group)
      for (size_t i = 0; i < columns.size(); ++i)
        if (columns[i].sort == ColumnSort::metric && !row->cells[i].empty() &&
            !given.emplace(row->cells[step], i).second)
          return true;
  }
  return false;
}

/// Cuts groups where the step does not grow: a new run has begun.
std::vector<std::vector<const RunTable::Row*>> cut_at_restarts(
    const std::vector<std::vector<const RunTable::Row*>>& groups, size_t step) {
  std::vector<std::vector<const RunTable::Row*>> cut;
  for (const auto& group : groups) {
    double last = 0;
    for (const RunTable::Row* row : group) {
      const double own = foreign_number(row->cells[step]).value_or(last);
      if (row == group.front() || own < last) cut.emplace_back();
      last = own;
      cut.back().push_back(row);
    }
  }
  return cut;
}

/// The rows of each run. A run's column, or the columns that [runs] names, tell runs apart if they can; then text does,
/// and numbers and remarks at some rows only where that does not, since a log has many.
std::vector<std::vector<const RunTable::Row*>> run_rows(const RunTable& table, const std::vector<TableColumn>& columns,
                                                        const RunRoles& roles, size_t step,
                                                        std::vector<std::string>& problems) {
  std::vector<size_t> named, texts, few;
  bool is_told = !roles.series.empty() || !roles.x.empty();
  for (size_t i = 0; i < columns.size(); ++i) {
    const TableColumn& c = columns[i];
    is_told |= c.sort == ColumnSort::run;
    const bool is_setting = c.sort == ColumnSort::other || c.sort == ColumnSort::rate;
    if (c.has_role || c.sort == ColumnSort::seed || c.sort == ColumnSort::run) named.push_back(i);
    else if (c.sort == ColumnSort::other && !c.is_number && c.is_full) texts.push_back(i);
    else if (is_setting && 4 * c.values <= table.rows.size()) few.push_back(i);
  }
  std::vector<size_t> key;
  std::vector<std::vector<const RunTable::Row*>> groups;
  for (const auto* more : {&named, &texts, &few}) {
    key.insert(key.end(), more->begin(), more->end());
    if (more == &named && !is_told) continue;
    groups = grouped(table, key);
    if (!has_repeats(groups, columns, step)) return groups;
  }
  problems.push_back(
      fmt::format("{}: several rows have the same {} and nothing else tells their runs apart; a new run "
                  "is taken to begin where it starts again (name the run's column as run in [runs])",
                  table.source, table.columns[step]));
  return cut_at_restarts(groups, step);
}

}  // namespace

ForeignRuns runs_of(const RunTable& table, const RunRoles& roles) {
  ForeignRuns out;
  const std::set<std::string> known(table.columns.begin(), table.columns.end());
  for (const auto& [role, name] : {std::pair{"step", &roles.step}, {"run", &roles.run}, {"status", &roles.status}})
    require(name->empty() || known.contains(*name), "[runs] {} = \"{}\": {} has no such column{}", role, *name,
            table.source, did_you_mean(*name, known));
  const std::vector<TableColumn> columns = sorted_columns(table, roles);
  // Of an epoch and a step, the column with more values.
  const auto find = [&](ColumnSort sort) {
    size_t found = columns.size();
    for (size_t i = 0; i < columns.size(); ++i)
      if (columns[i].sort == sort && (columns[i].is_number || sort != ColumnSort::step) &&
          (found == columns.size() || columns[i].values > columns[found].values))
        found = i;
    return found;
  };
  const size_t step = find(ColumnSort::step), status = find(ColumnSort::status);
  const bool has_steps = step < columns.size();
  std::vector<std::vector<const RunTable::Row*>> groups;
  if (has_steps) groups = run_rows(table, columns, roles, step, out.problems);
  else
    for (const RunTable::Row& row : table.rows) groups.push_back({&row});
  for (const auto& group : groups) {
    ForeignRun run{.source = fmt::format("{}:{}", table.source, group.front()->line),
                   .parameters = table.parameters,
                   .metrics = {}};
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string& name = table.columns[i];
      if (i == step && has_steps) continue;
      std::set<std::string> values;
      for (const RunTable::Row* row : group) {
        const std::string& cell = row->cells[i];
        if (cell.empty()) continue;
        values.insert(cell);
        const auto value = foreign_number(cell);
        const double at = has_steps ? foreign_number(row->cells[step]).value_or(-1) : 0;
        if (value && at >= 0 && at < 9e15) run.metrics[name][static_cast<int64_t>(at)] = *value;
      }
      if (i == status && !values.empty()) {
        const std::string& last = group.back()->cells[i];
        run.end = end_named(last);
        run.said = fmt::format("{} = {}", name, last);
      } else if (values.size() == 1 && columns[i].sort != ColumnSort::metric) {
        run.parameters[name] = *values.begin();
      }
    }
    out.runs.push_back(std::move(run));
  }
  return out;
}

}  // namespace headroom::experiments
