#include <fmt/format.h>

#include <algorithm>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/studies/export/gzip_lines.h"
#include "experiments/tools/judge/readers/json_leaves.h"
#include "experiments/tools/judge/readers/table.h"

namespace headroom::experiments {
namespace {

/// Python's JSON has NaN and Infinity, which are no JSON: as strings they are read like a CSV's.
std::string with_quoted_nan(const std::string& text) {
  std::string out;
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) is_quoted = !is_quoted;
    size_t length = 0;
    for (const char* word : {"NaN", "Infinity", "-Infinity"})
      if (!is_quoted && text.compare(i, std::char_traits<char>::length(word), word) == 0)
        length = std::char_traits<char>::length(word);
    if (length == 0) {
      out += text[i];
      continue;
    }
    out += '"' + text.substr(i, length) + '"';
    i += length - 1;
  }
  return out;
}

/// Puts every leaf into a row by its dotted path.
class FlatRows {
 public:
  explicit FlatRows(RunTable& table) : table_(table) {}

  void add(const ForeignJson& object, int64_t line) {
    table_.rows.push_back({line, std::vector<std::string>(table_.columns.size())});
    each_leaf(object, "", [this](const std::string& path, std::string text) { put(path, std::move(text)); });
    cells_ += table_.columns.size();
    require(cells_ <= most_cells, "more than {} cells; the rows from here on are left out", most_cells);
  }
  /// Gives every row a cell in every column; false, and no rows, where those are too many.
  bool fill() {
    const bool fits = table_.columns.size() * table_.rows.size() <= 2 * most_cells;
    if (!fits) table_.rows.clear();
    for (RunTable::Row& row : table_.rows) row.cells.resize(table_.columns.size());
    return fits;
  }

 private:
  void put(const std::string& path, std::string text) {
    constexpr size_t most_names = size_t{1} << 16;
    const auto [place, is_new] = places_.emplace(path, table_.columns.size());
    require(places_.size() <= most_names, "more than {} different names; the rows from here on are left out",
            most_names);
    if (is_new) table_.columns.push_back(path);
    RunTable::Row& row = table_.rows.back();
    if (row.cells.size() <= place->second) row.cells.resize(table_.columns.size());
    row.cells[place->second] = std::move(text);
  }

  RunTable& table_;
  std::map<std::string, size_t> places_;
  size_t cells_ = 0;
};

}  // namespace

ForeignJson foreign_json(const std::string& text) {
  ForeignJson json = ForeignJson::parse(text, nullptr, false);
  if (json.is_discarded() && text.find_first_of("NI") != std::string::npos)
    json = ForeignJson::parse(with_quoted_nan(text), nullptr, false);
  return json;
}

RunTable read_json_lines(const std::filesystem::path& file, std::vector<std::string>& problems) {
  RunTable table{.source = file.string(), .columns = {}, .rows = {}, .parameters = {}};
  FlatRows rows(table);
  std::vector<std::string> broken;
  const auto add = [&](const ForeignJson& json, int64_t line) {
    if (json.is_object()) rows.add(json, line);
    if (!json.is_array()) return json.is_object();
    for (const ForeignJson& one : json)
      if (one.is_object()) rows.add(one, line);
    return true;
  };
  try {
    LineReader lines(file, {.file = uint64_t{1} << 28, .text = uint64_t{1} << 29, .line = uint64_t{1} << 24});
    std::string line;
    for (int64_t number = 1; lines.next(line); ++number) {
      if (line.find_first_not_of(" \t\r") == std::string::npos || add(foreign_json(line), number)) continue;
      // Where the very first line is not one, the file may be one document over many lines.
      constexpr models::FileKind document{"JSON document", uint64_t{1} << 26};
      if (table.rows.empty() && broken.empty() && add(foreign_json(models::read_file(file, document)), number)) break;
      broken.push_back(std::to_string(number));
    }
  } catch (const std::exception& error) {
    problems.push_back(fmt::format("{}: {}", file.string(), plain_words(error.what())));
  }
  if (!broken.empty())
    problems.push_back(fmt::format("{}: left out lines that are not JSON objects: {}", file.string(), some_of(broken)));
  if (!rows.fill()) problems.push_back(fmt::format("{}: too many different names in its rows", file.string()));
  return table;
}

}  // namespace headroom::experiments
