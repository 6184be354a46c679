#include "experiments/output/document.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace headroom::experiments {
namespace {

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

Block table(const std::string& name, const std::vector<std::string>& head, std::vector<std::vector<Phrase>> rows) {
  std::set<size_t> words;
  for (size_t i = 0; i < head.size(); ++i) words.insert(i);
  return table(name, head, std::move(rows), std::move(words));
}

Block cells_table(const std::string& name, const std::vector<std::vector<std::string>>& cells, std::set<size_t> words) {
  std::vector<std::vector<Phrase>> rows;
  for (size_t i = 1; i < cells.size(); ++i) rows.push_back(text_cells(cells[i]));
  return table(name, cells[0], std::move(rows), std::move(words));
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
