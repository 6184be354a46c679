#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
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

/// One claim's row.
struct VerdictRow {
  std::string status;  ///< "pass", "fail", "undecided", "not run"
  Phrase claim;
  Blocks more;          ///< all that is said of it, on demand
  std::string numbers;  ///< what was measured
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
  std::string json, script;         ///< data of all measures, and the asset that draws them
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
    opening,  ///< facts of the set-up, and beside them what was found
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
  Plot plot{};         ///< of a figure
  Drawing drawing{};   ///< the same as SVG; HTML leaves a figure out that lacks it
  std::string file{};  ///< its file beside the page; Markdown leaves a figure out that lacks it
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

Block title(const std::string& text);
Block heading(const std::string& text, int level = 2);
Block paragraph(const std::string& text, Role role = Role::plain);
Block paragraph(Phrase line, Role role = Role::plain);
Block item(const std::string& text, Role role = Role::plain);
Block item(Phrase line);
Block code(const std::string& text);
/// What stands above a page's own parts.
Block header(Blocks parts);
Block section(const std::string& heading, Blocks parts, const std::string& id = "");
/// Parts behind the line `summary`.
Block fold(const std::string& summary, Blocks parts, bool is_open = false);
/// All columns hold text.
Block table(const std::string& name, const std::vector<std::string>& head, std::vector<std::vector<Phrase>> rows);
/// Columns in `words` hold text, the others numbers.
Block table(const std::string& name, const std::vector<std::string>& head, std::vector<std::vector<Phrase>> rows,
            std::set<size_t> words);
/// Of plain text, the first row its heads.
Block cells_table(const std::string& name, const std::vector<std::vector<std::string>>& cells, std::set<size_t> words);
Block facts(std::vector<Fact> rows);
Block definitions(std::vector<Fact> rows);
Block verdict_table(const std::string& name, std::vector<VerdictRow> rows);
Block figure(const Plot& plot, const std::string& caption, Drawing drawing, const std::string& file);

/// Cells of plain text.
std::vector<Phrase> text_cells(const std::vector<std::string>& cells);

void append(Blocks& blocks, Blocks more);

/// Whether any words of the parts, and of those inside them, hold `text`.
bool mentions(const Blocks& blocks, const std::string& text);

}  // namespace headroom::experiments
