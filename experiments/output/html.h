#pragma once
#include <set>
#include <string>
#include <vector>

/// The frame of every HTML page and its parts.
namespace headroom::experiments {

/// A whole document around `body`, with the style sheet, a page's own rules behind it, and the script. `title` is plain
/// text.
std::string document(const std::string& title, const std::string& body, const std::string& own_rules = "");

/// One line of a page's contents: where it leads, what it says, 1 or 2 for how deep it stands.
struct ContentsEntry {
  std::string id, text;
  int level = 1;
};
std::string contents(const std::vector<ContentsEntry>& entries);

/// <name>html</name>.
std::string element(const std::string& name, const std::string& html);

/// A table that sorts, in a frame that scrolls by itself. `heads` are plain text, `rows` whole <tr>s. Columns in
/// `words` hold text rather than numbers: their heads get the class that their cells are to have. On a phone, rows of a
/// table of nothing but words stand as blocks, with each cell's head before it.
std::string sortable_table(const std::string& name, const std::vector<std::string>& heads, const std::string& rows,
                           const std::set<size_t>& words = {});

/// The style sheet: light, dark, phone and print.
std::string page_style();

}  // namespace headroom::experiments
