#include "tasks/data/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "engine/read_number.h"
#include "models/files/mapped_file.h"
#include "models/files/utf8.h"

namespace headroom::tasks {

void for_each_line(const std::filesystem::path& path, const char* kind,
                   const std::function<void(int64_t, std::string_view)>& f) {
  const models::MappedFile file(path, {kind, uint64_t{1} << 30});
  std::string_view text = file.text();
  require(models::valid_utf8(text) == text.size(), "{}: is not UTF-8 from byte {} on", path.string(),
          models::valid_utf8(text));
  for (int64_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view own = text.substr(0, end);
    if (!own.empty() && own.back() == '\r') own.remove_suffix(1);
    try {
      f(line, own);
    } catch (const Error& error) {
      fail("{}, line {}: {}", path.string(), line, error.what());
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const size_t tab = std::min(line.find('\t'), line.size());
    cells.push_back(line.substr(0, tab));
    if (tab == line.size()) return cells;
    line.remove_prefix(tab + 1);
  }
}

size_t column_named(const std::vector<std::string>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  require(found != names.end(), "there is no column '{}'; there are {}", name, fmt::join(names, ", "));
  return static_cast<size_t>(found - names.begin());
}

int64_t class_number(std::string_view text, int64_t classes, const char* of) {
  const auto number = read_number<int64_t>(text, 0, classes - 1);
  require(number.has_value(), "label '{}' is none of 0 to {}, the numbers of the {}", excerpt(text, 40), classes - 1,
          of);
  return *number;
}

void for_each_row(const std::filesystem::path& path, const char* kind,
                  const std::function<void(const std::vector<std::string>&)>& head,
                  const std::function<void(int64_t, const std::vector<std::string_view>&)>& row) {
  std::vector<std::string> names;
  bool has_rows = false;
  for_each_line(path, kind, [&](int64_t number, std::string_view line) {
    const std::vector<std::string_view> cells = cells_of(line);
    if (number == 1) {
      names.assign(cells.begin(), cells.end());
      return head(names);
    }
    if (line.empty()) return;
    require(cells.size() == names.size(), "{} columns, the first line names {}", cells.size(), names.size());
    row(number, cells);
    has_rows = true;
  });
  require(has_rows, "{}: holds no item", path.string());
}

}  // namespace headroom::tasks
