#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiments/output/plot/plot.h"

/// Pages as parts without any markup: as_html(), as_markdown() and as_text() print them. All words are plain text.
namespace headroom::experiments {

/// The purpose of words or of a paragraph; printers decide how it looks.
enum class Role { plain, over, question, changed, headline, muted, source, notes, why, bad, example, series };

/// Words in a line.
struct Words {
  std::string text;
  std::string link{};  ///< target; "" for none
  bool is_strong = false;
  bool is_code = false;
  Role role = Role::plain;
  std::string csv{};                    ///< a table in the page, saved under the name `link`
  std::optional<double> sorts_as = {};  ///< in a cell's first words: the number that its column is sorted by
};
using Phrase = std::vector<Words>;

struct Block;
using Blocks = std::vector<Block>;

/// A term and its description.
struct Fact {
  std::string term;
  Phrase text;
  Blocks more;  ///< below the text
};

/// A number of a verdict with its interval, and the range where the claim holds.
struct Whisker {
  double value = 0;
  double low = 0, high = 0;               ///< NaN: without an interval
  std::optional<double> least{}, most{};  ///< the claimed bounds; at least one is set
  bool is_ratio = false;                  ///< drawn on a logarithmic scale
  bool is_strict = false;                 ///< a bound itself is outside
  std::string words{};                    ///< the number with its interval and what it is of; "": the first two alone
};

/// One claim's row.
struct VerdictRow {
  std::string status;  ///< "pass", "fail", "undecided", "not run"
  Phrase claim;
  Blocks more;            ///< everything about it, on demand
  std::string numbers;    ///< the measured numbers
  std::string warning{};  ///< a caveat in a few words; "" for none
  std::vector<Whisker> whiskers{};
};

/// Values over rows and columns, one measure at a time, each cell a button.
struct HeatMap {
  struct Measure {
    std::string id, group, label, meaning, low, high;  ///< low and high: meaning of the ends of the colour scale
  };
  std::vector<Measure> measures;
  int64_t rows = 0, columns = 0;
  std::vector<int> shades;          ///< of the first measure: per cent of the colour, row by row
  std::vector<std::string> hovers;  ///< text for a pointer over a cell
  std::vector<Blocks> details{};    ///< shown below for the chosen cell, at first cell 0
  std::string json, script;         ///< data of all measures, and the asset that shows them
};

/// One part of a page.
struct Block {
  enum class Kind {
    title,
    heading,
    paragraph,
    item,
    table,
    figure,
    facts,        ///< a table of terms
    definitions,  ///< a list of terms, such as a study's set-up
    verdicts,
    code,     ///< preformatted lines
    header,   ///< the parts above a page's own
    section,  ///< `line` is its heading, if it has one
    fold,     ///< parts that show when their `line` is opened
    heat_map,
  };
  Kind kind = Kind::paragraph;
  Role role = Role::plain;
  Phrase line{};       ///< a figure's caption, a table's name
  std::string id{};    ///< target of links and of the contents
  std::string name{};  ///< in the contents, if it differs from the heading; of a fold: a heading in its line
  int level = 2;       ///< of a heading
  std::vector<std::string> head{};          ///< of a table
  std::set<size_t> words{};                 ///< a table's columns that hold text rather than numbers
  std::vector<std::vector<Phrase>> rows{};  ///< as many cells as `head` has
  std::optional<size_t> best_row{};
  std::vector<Fact> facts{};
  std::vector<VerdictRow> verdicts{};
  Plot plot{};            ///< of a figure
  std::string file{};     ///< next to the page; Markdown leaves out a figure without one
  bool is_small = false;  ///< of a figure: in its narrow format alone, next to others
  std::optional<HeatMap> heat{};
  bool is_open = false;  ///< of a fold
  Blocks parts{};
};

/// A page of HTML around its parts.
struct Document {
  std::string title;
  Blocks blocks;
  std::string style{};        ///< the asset with its own rules, such as "output/assets/report.css"; "" for none
  bool has_contents = false;  ///< a list of headers, sections and folds that have an id
};

/// Plain text as words; none for "".
inline Phrase phrase(const std::string& text) { return text.empty() ? Phrase{} : Phrase{{text}}; }

inline Block title(const std::string& text) { return {.kind = Block::Kind::title, .line = phrase(text)}; }
inline Block heading(const std::string& text, int level = 2) {
  return {.kind = Block::Kind::heading, .line = phrase(text), .level = level};
}
inline Block paragraph(Phrase line, Role role = Role::plain) { return {.role = role, .line = std::move(line)}; }
inline Block paragraph(const std::string& text, Role role = Role::plain) { return paragraph(phrase(text), role); }
inline Block item(Phrase line, Role role = Role::plain) {
  return {.kind = Block::Kind::item, .role = role, .line = std::move(line)};
}
inline Block item(const std::string& text, Role role = Role::plain) { return item(phrase(text), role); }
inline Block code(const std::string& text) { return {.kind = Block::Kind::code, .line = phrase(text)}; }
/// The parts above a page's own.
inline Block header(Blocks parts) { return {.kind = Block::Kind::header, .parts = std::move(parts)}; }
inline Block section(const std::string& heading, Blocks parts, const std::string& id = "") {
  return {.kind = Block::Kind::section, .line = phrase(heading), .id = id, .parts = std::move(parts)};
}
/// Parts behind the line `summary`.
inline Block fold(const std::string& summary, Blocks parts, bool is_open = false) {
  return {.kind = Block::Kind::fold, .line = phrase(summary), .is_open = is_open, .parts = std::move(parts)};
}
inline Block facts(std::vector<Fact> rows) { return {.kind = Block::Kind::facts, .facts = std::move(rows)}; }
inline Block definitions(std::vector<Fact> rows) {
  return {.kind = Block::Kind::definitions, .facts = std::move(rows)};
}
inline Block verdict_table(const std::string& name, std::vector<VerdictRow> rows) {
  return {.kind = Block::Kind::verdicts, .line = phrase(name), .verdicts = std::move(rows)};
}
inline Block figure(const Plot& plot, const std::string& caption, const std::string& file = "") {
  return {.kind = Block::Kind::figure, .line = phrase(caption), .plot = plot, .file = file};
}
/// Columns in `words` hold text, the others numbers.
inline Block table(const std::string& name, const std::vector<std::string>& head, std::vector<std::vector<Phrase>> rows,
                   std::set<size_t> words) {
  return {.kind = Block::Kind::table,
          .line = phrase(name),
          .head = head,
          .words = std::move(words),
          .rows = std::move(rows)};
}
/// All columns hold text.
Block table(const std::string& name, const std::vector<std::string>& head, std::vector<std::vector<Phrase>> rows);
/// A table of plain text whose first row holds the heads.
Block cells_table(const std::string& name, const std::vector<std::vector<std::string>>& cells, std::set<size_t> words);

/// Cells of plain text.
std::vector<Phrase> text_cells(const std::vector<std::string>& cells);

void append(Blocks& blocks, Blocks more);

/// True if any words in the parts, at any depth, contain `text`.
bool mentions(const Blocks& blocks, const std::string& text);

/// A page as Markdown: words, lists, tables, figures' files, and sections with headings. Leaves out tables without
/// rows, figures without files and everything that only a browser shows.
std::string as_markdown(const Blocks& page);

/// The parts for a terminal: paragraphs and list items in lines of at most `columns` characters (0: no limit), tables
/// with aligned columns. Leaves out figures, and shows links as their words.
std::string as_text(const Blocks& blocks, size_t columns);

}  // namespace headroom::experiments
