#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "experiments/output/document.h"
#include "experiments/output/text.h"

namespace headroom::experiments {
namespace {

std::string table_row(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

/// Text that Markdown shows as it is, on one line.
std::string markdown(const std::string& text) {
  std::string out;
  for (const char c : one_line(text)) {
    if (std::string_view("\\`*_~$<>[]|#&").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// The same as code: "`D 256`".
std::string markdown_code(const std::string& text) {
  std::string out = one_line(text);
  std::replace(out.begin(), out.end(), '`', '\'');
  for (size_t at = out.find('|'); at != std::string::npos; at = out.find('|', at + 2)) out.insert(at, 1, '\\');
  return "`" + out + "`";
}

std::string markdown_of(const Phrase& line) {
  std::string out;
  for (const Words& words : line) {
    std::string text = words.is_code ? markdown_code(words.text) : markdown(words.text);
    if (words.role == Role::why) text = fmt::format("*{}*", text);
    if (words.is_strong) text = fmt::format("**{}**", text);
    out += words.link.empty() ? text : fmt::format("[{}]({})", text, words.link);
  }
  return out;
}

/// Ends with an empty line; "" without rows.
std::string table_of_block(const Block& block) {
  if (block.rows.empty()) return "";
  std::vector<std::string> head;
  for (const std::string& name : block.head) head.push_back(markdown(name));
  std::string out = table_row(head) + table_row(std::vector<std::string>(head.size(), "---"));
  for (const std::vector<Phrase>& cells : block.rows) {
    std::vector<std::string> row;
    for (const Phrase& cell : cells) row.push_back(markdown_of(cell));
    out += table_row(row);
  }
  return out + "\n";
}

/// The parts, each followed by an empty line.
std::string markdown_of(const Blocks& blocks) {
  using Kind = Block::Kind;
  std::string out;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Block& block = blocks[i];
    const bool ends_list = i + 1 == blocks.size() || blocks[i + 1].kind != Kind::item;
    const std::string line = markdown_of(block.line);
    if (block.kind == Kind::title) out += "# " + line + "\n\n";
    else if (block.kind == Kind::heading)
      out += std::string(static_cast<size_t>(block.level), '#') + " " + line + "\n\n";
    else if (block.kind == Kind::paragraph)  // no list, and no rule across the page
      out += (line.starts_with('-') || line.starts_with('+') ? "\\" : "") + line + "\n\n";
    else if (block.kind == Kind::item) out += "- " + line + (ends_list ? "\n\n" : "\n");
    else if (block.kind == Kind::table) out += table_of_block(block);
    else if (block.kind == Kind::section) out += (line.empty() ? "" : "## " + line + "\n\n") + markdown_of(block.parts);
    else if (block.kind == Kind::fold)
      out += fmt::format("<details><summary>{}</summary>\n\n{}</details>\n\n", line, markdown_of(block.parts));
    else if (block.kind == Kind::figure && !block.file.empty()) out += fmt::format("![{}]({})\n\n", line, block.file);
  }
  return out;
}

}  // namespace

std::string as_markdown(const Blocks& page) {
  std::string out = markdown_of(page);
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace headroom::experiments
