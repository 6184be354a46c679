#pragma once
#include <string>
#include <vector>

namespace headroom::experiments {

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
