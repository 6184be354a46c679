#pragma once
#include <string>
#include <vector>

#include "experiments/studies/analysis/verdict.h"

/// Verdicts in words, each sentence at one place. The functions of a verdict that was not run say why it was not.
namespace headroom::experiments {

/// What a verdict's numbers say, by the form of its kind.
struct FindingWords {
  std::string effect;   ///< the numbers in a few characters: "2.9× [2.1, 4.0]"
  std::string found;    ///< what was measured, as a clause: "at heads = 1 the error is 3.1× that at heads = 8"
  std::string claimed;  ///< what the claim says of that: "at least 1.1 times as bad"; "" where `found` says it
  /// The numbers, each with what it belongs to, and what the claim needs: "1 head 4.17× [2.68, 6.48]", "needs ≥ 1.1×".
  std::vector<std::string> brief;
};

/// The words of what was measured; none where nothing was.
FindingWords words_of(const Verdict& verdict);

/// The numbers with their p: "2.9× [2.1, 4.0], p = 0.003".
std::string summary(const Verdict& verdict);
/// The verdict in plain words: what was measured, what is claimed, and what decides.
std::string sentence(const Verdict& verdict);
/// Of an undecided one: what would decide it, or why more seeds would not; "" for others.
std::string what_is_open(const Verdict& verdict);

}  // namespace headroom::experiments
