#include "experiments/output/document.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace headroom::experiments {
namespace {

using Kind = Block::Kind;

Block of_words(Kind kind, const std::string& text, Role role = Role::plain) {
  Block block;
  block.kind = kind;
  block.role = role;
  if (!text.empty()) block.line.push_back({text});
  return block;
}

bool holds(const Phrase& line, const std::string& text) {
  return std::any_of(line.begin(), line.end(), [&](const Words& w) { return w.text.find(text) != std::string::npos; });
}

bool holds(const Block& block, const std::string& text) {
  if (holds(block.line, text) || mentions(block.parts, text)) return true;
  for (const auto& row : block.rows)
    for (const Phrase& cell : row)
      if (holds(cell, text)) return true;
  return std::any_of(block.facts.begin(), block.facts.end(),
                     [&](const Fact& fact) { return holds(fact.text, text) || mentions(fact.more, text); });
}

}  // namespace

Block title(const std::string& text) { return of_words(Kind::title, text); }

Block heading(const std::string& text, int level) {
  Block block = of_words(Kind::heading, text);
  block.level = level;
  return block;
}

Block paragraph(const std::string& text, Role role) { return of_words(Kind::paragraph, text, role); }

Block paragraph(Phrase line, Role role) {
  Block block = of_words(Kind::paragraph, "", role);
  block.line = std::move(line);
  return block;
}

Block item(const std::string& text, Role role) { return of_words(Kind::item, text, role); }
Block item(Phrase line) {
  Block block = of_words(Kind::item, "");
  block.line = std::move(line);
  return block;
}

Block code(const std::string& text) { return of_words(Kind::code, text); }

Block header(Blocks parts) {
  Block block = of_words(Kind::header, "");
  block.parts = std::move(parts);
  return block;
}

Block section(const std::string& heading, Blocks parts, const std::string& id) {
  Block block = of_words(Kind::section, heading);
  block.id = id;
  block.parts = std::move(parts);
  return block;
}

Block fold(const std::string& summary, Blocks parts, bool is_open) {
  Block block = of_words(Kind::fold, summary);
  block.parts = std::move(parts);
  block.is_open = is_open;
  return block;
}

Block table(const std::string& name, const std::vector<std::string>& head, std::vector<std::vector<Phrase>> rows) {
  std::set<size_t> words;
  for (size_t i = 0; i < head.size(); ++i) words.insert(i);
  return table(name, head, std::move(rows), std::move(words));
}

Block table(const std::string& name, const std::vector<std::string>& head, std::vector<std::vector<Phrase>> rows,
            std::set<size_t> words) {
  Block block = of_words(Kind::table, name);
  block.head = head;
  block.words = std::move(words);
  block.rows = std::move(rows);
  return block;
}

Block cells_table(const std::string& name, const std::vector<std::vector<std::string>>& cells, std::set<size_t> words) {
  std::vector<std::vector<Phrase>> rows;
  for (size_t i = 1; i < cells.size(); ++i) rows.push_back(text_cells(cells[i]));
  return table(name, cells[0], std::move(rows), std::move(words));
}

Block facts(std::vector<Fact> rows) {
  Block block = of_words(Kind::facts, "");
  block.facts = std::move(rows);
  return block;
}

Block definitions(std::vector<Fact> rows) {
  Block block = of_words(Kind::definitions, "");
  block.facts = std::move(rows);
  return block;
}

Block verdict_table(const std::string& name, std::vector<VerdictRow> rows) {
  Block block = of_words(Kind::verdicts, name);
  block.verdicts = std::move(rows);
  return block;
}

Block figure(const Plot& plot, const std::string& caption, Drawing drawing, const std::string& file) {
  Block block = of_words(Kind::figure, caption);
  block.plot = plot;
  block.drawing = std::move(drawing);
  block.file = file;
  return block;
}

std::vector<Phrase> text_cells(const std::vector<std::string>& cells) {
  std::vector<Phrase> out;
  for (const std::string& cell : cells) out.push_back({{cell}});
  return out;
}

void append(Blocks& blocks, Blocks more) {
  blocks.insert(blocks.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

bool mentions(const Blocks& blocks, const std::string& text) {
  return std::any_of(blocks.begin(), blocks.end(), [&](const Block& block) { return holds(block, text); });
}

}  // namespace headroom::experiments
