#pragma once
#include <string>
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/claims/reference.h"
#include "experiments/studies/pages/results_page.h"

namespace headroom::experiments {

/// What all claims that test one sentence of the paper say together.
struct SentenceVerdict {
  /// One claim of one study: a variant of the sentence.
  struct Variant {
    const Analysis* study;
    const Verdict* verdict;
  };

  const PaperSentence* sentence;
  std::vector<Variant> holds, fails, open;  ///< open: undecided, or not measured
  std::vector<Variant> elsewhere;           ///< not counted: PaperSentence::elsewhere

  /// "holds" or "fails" where all that are decided agree, "depends" where they do not, "open" where none is decided;
  /// PaperSentence::at_most in place of the first three.
  const char* status() const;
  /// status(), with "so far" behind it where undecided variants may still turn what holds or fails.
  std::string words() const;
};

/// One for each of paper_sentences(), in that order.
std::vector<SentenceVerdict> sentence_verdicts(const std::vector<Analysis>& all);

/// How many sentences hold, fail, depend and are open, and a row for each with the variants that decide it; studies
/// link to their pages in `folder`. None where no claim of the studies tests a sentence.
Blocks scoreboard(const std::vector<Analysis>& all, const std::string& folder);

}  // namespace headroom::experiments
