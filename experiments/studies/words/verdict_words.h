#pragma once
#include <string>
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/analysis/verdict.h"
#include "experiments/studies/claims/study_results.h"

/// Verdicts in words, each sentence at one place.
namespace headroom::experiments {

/// "holds", "fails", "is undecided" or "was not judged".
const char* says(VerdictStatus status);

/// What a verdict's numbers say; nothing where it was not run.
struct FindingWords {
  std::vector<std::string> numbers;  ///< each with what it belongs to: "1 head 4.17× [2.68, 6.48] of 8 heads"
  std::string found;                 ///< as a clause: "with 1 head the error is 4.17× [2.68, 6.48] that with 8 heads"
};
FindingWords words_of(const Verdict& verdict);

/// The numbers that a claim bounds, with their bounds; without differences that stand for ratios.
std::vector<Whisker> whiskers(const Verdict& verdict);
/// What the claim needs: "needs ≥ 1.1×"; "" where nothing was measured.
std::string needs(const Verdict& verdict);

/// The numbers with their p: "1 head 4.17× [2.68, 6.48] of 8 heads, p = 0.003".
std::string summary(const Verdict& verdict);
/// In plain words what was measured, what the claim needs and what is open, or why it was not judged.
std::string sentence(const Verdict& verdict);
/// What to write into a study's file so that claims of this one can be decided: "task.test = 0.1".
std::string remedy(const Hindrance& hindrance);
/// Of an undecided one: what would decide it, or why more seeds would not; "" for others.
std::string what_is_open(const Verdict& verdict);

/// When the claims were sealed, and a line for each change since; empty if they were not.
std::vector<std::string> seal_lines(const StudyResults& results);

}  // namespace headroom::experiments
