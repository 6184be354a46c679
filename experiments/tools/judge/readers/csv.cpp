#include <fmt/format.h>

#include <algorithm>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/studies/export/gzip_lines.h"
#include "experiments/tools/judge/readers/table.h"

namespace headroom::experiments {
namespace {

/// Cuts a record into cells; false where a quote is still open.
bool cut_record(const std::string& record, char separator, std::vector<std::string>& cells) {
  cells.assign(1, "");
  bool is_quoted = false;
  for (size_t i = 0; i < record.size(); ++i) {
    const char c = record[i];
    if (is_quoted && c == '"' && i + 1 < record.size() && record[i + 1] == '"') cells.back() += record[++i];
    else if (c == '"' && (is_quoted || cells.back().empty())) is_quoted = !is_quoted;
    else if (c == separator && !is_quoted) cells.emplace_back();
    else cells.back() += c;
  }
  return !is_quoted;
}

/// Whether the last row's last cell has fewer characters than that of any other row.
bool is_last_cell_short(const RunTable& table) {
  const auto length = [](const RunTable::Row& row) { return row.cells.back().size(); };
  return std::all_of(table.rows.begin(), table.rows.end() - 1,
                     [&](const RunTable::Row& row) { return length(row) > length(table.rows.back()); });
}

/// The separator that a header has most of.
char separator_of(const std::string& header) {
  const auto count = [&](char c) { return std::count(header.begin(), header.end(), c); };
  return count('\t') > count(',') ? '\t' : count(';') > count(',') ? ';' : ',';
}

}  // namespace

RunTable read_csv(const std::filesystem::path& file, std::vector<std::string>& problems) {
  constexpr size_t longest_record = size_t{1} << 20;
  RunTable table{.source = file.string(), .columns = {}, .rows = {}, .parameters = {}};
  std::vector<std::string> uneven;
  try {
    LineReader lines(file);
    std::string line, record;
    std::vector<std::string> cells;
    char separator = ',';
    int64_t number = 0, first = 0;
    while (lines.next(line)) {
      ++number;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
      if (record.empty()) first = number;
      record += (record.empty() ? "" : "\n") + line;
      if (record.empty() || (table.columns.empty() && record[0] == '#')) {
        record.clear();
        continue;
      }
      if (table.columns.empty()) separator = separator_of(record);
      if (record.size() > longest_record) lines.complain("a row has more than a megabyte; is a quote left open?");
      if (!cut_record(record, separator, cells)) continue;
      record.clear();
      if (table.columns.empty()) {
        table.columns = cells;
        std::set<std::string> names;
        for (const std::string& name : cells)
          if (!names.insert(name).second) lines.complain(fmt::format("two columns are called \"{}\"", excerpt(name)));
      } else if (cells.size() != table.columns.size()) {
        uneven.push_back(fmt::format("{} ({} cells)", first, cells.size()));
      } else {
        if ((table.rows.size() + 1) * cells.size() > most_cells)
          lines.complain(fmt::format("more than {} cells; the rows from here on are left out", most_cells));
        table.rows.push_back({first, cells});
      }
    }
    if (!record.empty()) uneven.push_back(fmt::format("{} (its quote is never closed)", first));
    if (lines.may_be_cut() && !table.rows.empty() && table.rows.back().line == first && is_last_cell_short(table))
      problems.push_back(fmt::format("{}:{}: the last line has no end, so its last cell, \"{}\", may be cut short",
                                     file.string(), first, excerpt(table.rows.back().cells.back())));
  } catch (const Error& error) {
    problems.emplace_back(error.what());
  }
  if (!uneven.empty())
    problems.push_back(fmt::format("{}: left out lines that do not have the header's {} columns: {}", file.string(),
                                   table.columns.size(), some_of(uneven)));
  return table;
}

}  // namespace headroom::experiments
