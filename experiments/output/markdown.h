#pragma once
#include <string>
#include <vector>

#include "experiments/output/document.h"

/// Markdown pages and their parts.
namespace headroom::experiments {

/// The page as Markdown: words, lists, tables, figures' files, and sections with their headings. A table without rows
/// and a figure without a file are left out, as is what only a browser shows.
std::string as_markdown(const Blocks& page);

/// Text that Markdown shows as it is, on one line.
std::string markdown(const std::string& text);

/// The same as code: "`D 256`".
std::string markdown_code(const std::string& text);

/// A table of equally many cells in each row, each of them Markdown, with an empty line behind it; "" without rows.
std::string markdown_table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows);

}  // namespace headroom::experiments
