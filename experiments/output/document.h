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

/// What words or a paragraph are there for; printers decide how that looks.
enum class Role { plain, over, question, changed, headline, muted, source, notes, why, bad, example, series };

/// Words in a line.
struct Words {
  std::string text;
  std::string link{};  ///< where they lead; "" for nowhere
  bool is_strong = false;
  bool is_code = false;
  Role role = Role::plain;
  std::string csv{};                    ///< a table that the page carries, to be saved under the name `link`
  std::optional<double> sorts_as = {};  ///< a cell's first words only: the number that its column is sorted by
};
using Phrase = std::vector<Words>;

struct Block;
using Blocks = std::vector<Block>;

/// One row of facts, of a set-up or of definitions: a term and what is said of it.
struct Fact {
  std::string term;
  Phrase text;
  Blocks more;  ///< below the text
};

/// A number of a verdict with its interval, and where it has to be for the claim to hold.
struct Whisker {
  double value = 0;
  double low = 0, high = 0;               ///< NaN: without an interval
  std::optional<double> least{}, most{};  ///< what is claimed of it; one at least
  bool is_ratio = false;                  ///< drawn on a logarithmic scale
};

/// One claim's row.
struct VerdictRow {
  std::string status;  ///< "pass", "fail", "undecided", "not run"
  Phrase claim;
  Blocks more;            ///< all that is said of it, on demand
  std::string numbers;    ///< what was measured
  std::string warning{};  ///< how firm it is not, in a few words; "" for none
  std::vector<Whisker> whiskers{};
};

/// Values over rows and columns, one measure at a time, each cell a button.
struct HeatMap {
  struct Measure {
    std::string id, group, label, meaning, low, high;  ///< low and high: what the ends of its colours stand for
  };
  std::vector<Measure> measures;
  int64_t rows = 0, columns = 0;
  std::vector<int> shades;          ///< of the first measure: per cent of the colour, row by row
  std::vector<std::string> hovers;  ///< what a pointer over a cell says
  std::vector<Blocks> details{};    ///< what shows below once a cell is chosen; at first that of the first
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
    definitions,  ///< a list of terms, as the set-up of a study
    verdicts,
    code,     ///< lines as they are
    header,   ///< the parts above a page's own
    section,  ///< `line` is its heading, where it has one
    fold,     ///< parts that show when their `line` is opened
    heat_map,
  };
  Kind kind = Kind::paragraph;
  Role role = Role::plain;
  Phrase line{};       ///< a figure's caption, a table's name
  std::string id{};    ///< where links lead; its place in the contents
  std::string name{};  ///< in the contents, where that is not its heading; of a fold: a heading in its line
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
  std::string style{};        ///< the asset with rules of its own, such as "output/assets/report.css"; "" for none
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

/// Whether any words of the parts, and of those inside them, hold `text`.
bool mentions(const Blocks& blocks, const std::string& text);

/// A page as Markdown: words, lists, tables, figures' files, and sections with their headings. A table without rows
/// and a figure without a file are left out, as is what only a browser shows.
std::string as_markdown(const Blocks& page);

/// The parts as a terminal shows them: paragraphs and list items in lines of at most `columns` characters, tables with
/// aligned columns. 0: as wide as they get. Figures are left out, links are their words.
std::string as_text(const Blocks& blocks, size_t columns);

}  // namespace headroom::experiments
