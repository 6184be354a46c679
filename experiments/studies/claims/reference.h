#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headroom::experiments {

/// The text of experiments/data/paper_tables.json, which is part of the program.
extern const char* const kPaperTables;

/// Where a number stands in the paper's tables: {"lowrank-perplexity", "layer 2", "16"}. A column of a table is
/// addressed by the value of the table's first column, a list of rows by a row's place from 0.
using PaperPath = std::vector<std::string>;

struct PaperNumber {
  PaperPath path;
  std::string label;  ///< in words: "layer 2, rank = 16"
  double value = 0;
};

/// One table of the paper, which has the name of its study.
struct PaperTable {
  std::string study;
  std::string setting;  ///< model, data and place in the text
  std::vector<PaperNumber> numbers;
};

/// Every table and every number in it, in the order of the file.
const std::vector<PaperTable>& paper_tables();

/// The number at a path; none when there is none.
std::optional<double> paper_number(const PaperPath& path);

/// The numbers below a path as pairs (x, number), for a path that names a column or a curve; empty when there are none.
std::vector<std::pair<double, double>> paper_points(const PaperPath& path);

/// The text of experiments/data/paper_sentences.json, which is part of the program.
extern const char* const kPaperSentences;

/// One thing that the paper says of its experiments, however many claims of ours test it.
struct PaperSentence {
  std::string id;        ///< what a claim's `sentence` names
  std::string where;     ///< the paper's figure or section
  std::string says;      ///< in our words
  std::string untested;  ///< why no claim tests it; "" where some do
  /// Series whose settings are not the sentence's, such as other position schemes: shown, but not counted.
  std::vector<std::string> elsewhere;
  std::string at_most;  ///< "open" or "depends": said in place of "holds" or "fails", which our set-ups cannot show
  std::string because;  ///< why at_most
};

/// All of them, in the paper's order. Theorems are not among them: claims with `theorem` check those.
const std::vector<PaperSentence>& paper_sentences();

}  // namespace headroom::experiments
