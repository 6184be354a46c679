#include "experiments/output/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "experiments/output/html.h"
#include "experiments/output/markdown.h"
#include "experiments/output/text.h"

namespace headroom::experiments {
namespace {

using Kind = Block::Kind;

/// Tables of words need room, and wrap.
const char* const own_rules =
    "body { max-width: 78rem; }\n.scroll + .scroll { margin-top: 1.5rem; }\nfigure { max-width: 48rem; }\nmain li { "
    "margin: .3rem 0; max-width: 60rem; }\n"
    "table.sort th.word, table.sort td.word { text-align: left; white-space: normal; overflow-wrap: break-word; }\n";

std::string phrase_as_markdown(const Phrase& line) {
  std::string out;
  for (const Words& words : line) {
    std::string text = words.is_code ? markdown_code(words.text) : markdown(words.text);
    if (words.is_strong) text = fmt::format("**{}**", text);
    out += words.link.empty() ? text : fmt::format("[{}]({})", text, words.link);
  }
  return out;
}

/// Markdown files beside the guide are no pages: as HTML it stands alone.
bool is_page(const std::string& link) { return !link.empty() && link.find(".md") == std::string::npos; }

std::string phrase_as_html(const Phrase& line) {
  std::string out;
  for (const Words& words : line) {
    std::string text = escape(words.text);
    if (words.is_code) text = element("code", text);
    if (words.is_strong) text = element("b", text);
    out += !is_page(words.link) ? text : fmt::format("<a href=\"{}\">{}</a>", escape(words.link), text);
  }
  return out;
}

std::string table_as_markdown(const Block& block) {
  std::vector<std::vector<std::string>> rows;
  for (const std::vector<Phrase>& cells : block.rows) {
    rows.emplace_back();
    for (const Phrase& cell : cells) rows.back().push_back(phrase_as_markdown(cell));
  }
  std::vector<std::string> head;
  for (const std::string& name : block.head) head.push_back(markdown(name));
  return markdown_table(head, rows);
}

std::string table_as_html(const Block& block) {
  if (block.rows.empty()) return "";
  std::string rows;
  for (const std::vector<Phrase>& cells : block.rows) {
    rows += "<tr>";
    for (size_t i = 0; i < cells.size(); ++i)
      rows += i == 0 ? fmt::format("<th scope=\"row\" class=\"word\">{}</th>", phrase_as_html(cells[i]))
                     : fmt::format("<td class=\"word\">{}</td>", phrase_as_html(cells[i]));
    rows += "</tr>\n";
  }
  std::set<size_t> words;
  for (size_t i = 0; i < block.head.size(); ++i) words.insert(i);
  return sortable_table(block.line.empty() ? "Table" : block.line.front().text, block.head, rows, words);
}

Block of_words(Kind kind, const std::string& text) {
  Block block{.kind = kind};
  block.line.push_back({text});
  return block;
}

}  // namespace

Block title(const std::string& text) { return of_words(Kind::title, text); }
Block heading(const std::string& text) { return of_words(Kind::heading, text); }
Block paragraph(const std::string& text) { return of_words(Kind::paragraph, text); }
Block item(const std::string& text) { return of_words(Kind::item, text); }

Block table(const std::string& name, const std::vector<std::string>& head, std::vector<std::vector<Phrase>> rows) {
  Block block = of_words(Kind::table, name);
  block.head = head;
  block.rows = std::move(rows);
  return block;
}

std::string as_markdown(const std::vector<Block>& page) {
  std::string out;
  for (size_t i = 0; i < page.size(); ++i) {
    const Block& block = page[i];
    const bool ends_list = i + 1 == page.size() || page[i + 1].kind != Kind::item;
    const std::string line = phrase_as_markdown(block.line);
    if (block.kind == Kind::title) out += "# " + line + "\n\n";
    else if (block.kind == Kind::heading) out += "## " + line + "\n\n";
    else if (block.kind == Kind::paragraph) out += line + "\n\n";
    else if (block.kind == Kind::item) out += "- " + line + (ends_list ? "\n\n" : "\n");
    else if (block.kind == Kind::table) out += table_as_markdown(block);
    else if (!block.file.empty()) out += fmt::format("![{}]({})\n\n", line, block.file);
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

std::string as_html(const std::vector<Block>& page) {
  std::string body = "<main>\n", name;
  for (size_t i = 0; i < page.size(); ++i) {
    const Block& block = page[i];
    const std::string line = phrase_as_html(block.line);
    const bool is_item = block.kind == Kind::item;
    if (is_item && (i == 0 || page[i - 1].kind != Kind::item)) body += "<ul>\n";
    if (block.kind == Kind::title) {
      if (name.empty()) name = block.line.front().text;
      body += element("h1", line);
    } else if (block.kind == Kind::heading) {
      body += element("h2", line);
    } else if (block.kind == Kind::paragraph) {
      body += element("p", line);
    } else if (is_item) {
      body += element("li", line);
    } else if (block.kind == Kind::table) {
      body += table_as_html(block);
    } else if (!block.svg.empty()) {
      body += fmt::format("<figure>{}<figcaption>{}</figcaption></figure>", block.svg, line);
    }
    body += "\n";
    if (is_item && (i + 1 == page.size() || page[i + 1].kind != Kind::item)) body += "</ul>\n";
  }
  return document(name, body + "</main>\n", own_rules);
}

}  // namespace headroom::experiments
