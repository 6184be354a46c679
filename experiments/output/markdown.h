#pragma once
#include <string>
#include <vector>

/// Parts of Markdown pages.
namespace headroom::experiments {

/// Text that Markdown shows as it is, on one line.
std::string markdown(const std::string& text);

/// The same as code: "`D 256`".
std::string markdown_code(const std::string& text);

/// A table of equally many cells in each row, each of them Markdown, with an empty line behind it; "" without rows.
std::string markdown_table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows);

}  // namespace headroom::experiments
