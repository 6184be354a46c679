#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::tasks {

/// Calls f(number, line without its end) for each line of a text file, counted from 1; messages call the file `kind`
/// ("table"). Throws Error naming the file if it is not UTF-8, and file and line if f throws.
void for_each_line(const std::filesystem::path& path, const char* kind,
                   const std::function<void(int64_t number, std::string_view)>& f);

/// Splits a line at its tabs.
std::vector<std::string_view> cells_of(std::string_view line);

/// The index of a column in the first line. Throws Error that lists all columns if it is missing.
size_t column_named(const std::vector<std::string>& names, std::string_view name);

/// Reads a class number, from 0. Throws Error unless it is below `classes`; `of` says what they number ("answers").
int64_t class_number(std::string_view text, int64_t classes, const char* of);

/// Reads a tab-separated table whose first line names the columns: calls `head` with the names, then `row` for each
/// non-empty line. Throws Error as for_each_line(), for a line with another number of cells, and for a table without
/// rows.
void for_each_row(const std::filesystem::path& path, const char* kind,
                  const std::function<void(const std::vector<std::string>&)>& head,
                  const std::function<void(int64_t number, const std::vector<std::string_view>&)>& row);

}  // namespace headroom::tasks
