#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::tasks {

/// f(number, line without its end) for all lines of a text file, the first of them number 1; `kind` is what the file is
/// called in messages ("table"). Throws Error naming the file where it is not UTF-8, and file and line where f throws.
void for_each_line(const std::filesystem::path& path, const char* kind,
                   const std::function<void(int64_t number, std::string_view)>& f);

/// Cells of a line with tabs between them.
std::vector<std::string_view> cells_of(std::string_view line);

/// The place of a column in the first line. Throws Error naming all columns when it is not one of them.
size_t column_named(const std::vector<std::string>& names, std::string_view name);

/// The number of a class, from 0. Throws Error unless `text` is one below `classes`; `of` is what they number
/// ("answers").
int64_t class_number(std::string_view text, int64_t classes, const char* of);

/// A table with tabs between its columns and their names in the first line: first `head` is called with these, then
/// `row` for each line that is not empty. Throws Error as for_each_line(), for a line with another number of cells,
/// and for a table without rows.
void for_each_row(const std::filesystem::path& path, const char* kind,
                  const std::function<void(const std::vector<std::string>&)>& head,
                  const std::function<void(int64_t number, const std::vector<std::string_view>&)>& row);

}  // namespace headroom::tasks
