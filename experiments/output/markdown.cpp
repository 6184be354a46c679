#include "experiments/output/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "experiments/output/text.h"

namespace headroom::experiments {
namespace {

std::string table_row(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

}  // namespace

std::string markdown(const std::string& text) {
  std::string out;
  for (char c : clean(text)) {
    if (c == '\n' || c == '\t') c = ' ';
    if (std::string_view("\\`*_<>[]|#&").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_code(const std::string& text) {
  std::string out = clean(text);
  std::replace(out.begin(), out.end(), '`', '\'');
  std::replace(out.begin(), out.end(), '\n', ' ');
  for (size_t at = out.find('|'); at != std::string::npos; at = out.find('|', at + 2)) out.insert(at, 1, '\\');
  return "`" + out + "`";
}

std::string markdown_table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return "";
  std::string out = table_row(head) + table_row(std::vector<std::string>(head.size(), "---"));
  for (const std::vector<std::string>& row : rows) out += table_row(row);
  return out + "\n";
}

}  // namespace headroom::experiments
