#include "experiments/output/document.h"
#include "experiments/output/number.h"
#include "experiments/output/text.h"
#include "experiments/output/wrap.h"

namespace headroom::experiments {
namespace {

using Kind = Block::Kind;

std::string phrase_text(const Phrase& line) {
  std::string out;
  for (const Words& words : line) out += one_line(words.text);
  return out;
}

std::string table_text(const Block& block, size_t columns) {
  std::vector<std::vector<std::string>> rows{block.head};
  for (const std::vector<Phrase>& cells : block.rows) {
    rows.emplace_back();
    for (const Phrase& cell : cells) rows.back().push_back(phrase_text(cell));
  }
  return rows.size() > 1 ? aligned(rows, columns) : "";
}

}  // namespace

std::string as_text(const Blocks& blocks, size_t columns) {
  std::string out;
  for (const Block& block : blocks) {
    const std::string line = phrase_text(block.line);
    if (block.kind == Kind::title || block.kind == Kind::heading || block.kind == Kind::paragraph)
      out += wrapped(line, columns) + "\n";
    else if (block.kind == Kind::item) out += wrapped("- " + line, columns, 2) + "\n";
    else if (block.kind == Kind::table) out += table_text(block, columns);
    else if (block.kind == Kind::facts || block.kind == Kind::definitions)
      for (const Fact& fact : block.facts)
        out += wrapped(one_line(fact.term) + ": " + phrase_text(fact.text), columns, 2) + "\n";
    else if (block.kind == Kind::section || block.kind == Kind::fold)
      out += (line.empty() ? "" : wrapped(line, columns) + "\n") + as_text(block.parts, columns);
  }
  return out;
}

}  // namespace headroom::experiments
