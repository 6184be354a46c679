#pragma once
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/claims/claim_kind.h"

namespace headroom::experiments {

/// Whose a claim is: the paper's, that of a theorem, a lemma or a bound whose proof or formula is checked, or our own.
enum class ClaimSource { paper, theorem, ours };

/// One [[claim]].
struct ClaimConfig {
  const ClaimKind* kind = claim_kinds().front();  ///< how it is judged
  ClaimKeys keys;                                 ///< those of that kind
  std::string id;                                 ///< what other claims of the study call it; "" for none
  std::vector<std::string> excludes;              ///< ids of claims that cannot hold where it holds
  std::string series;                             ///< the series it judges; "" = the only one
  std::string metric;                             ///< of the test data; "" = the report's y
  std::string paper;                              ///< the paper's claim in words
  std::string sentence;                           ///< of the paper, that it tests: an id of paper_sentences()
  std::string theorem;                            ///< what a theorem, a lemma or a bound says, in words
  std::string ours;                               ///< our own claim in words; of these three at most one is there
  std::string why;                                ///< why it fails, in plain words, with places for numbers (why.h)
  std::string because;       ///< why `factor` is not the standard effect, where the words do not name it
  std::string single_rate;   ///< why one learning rate, or one at the end of its grid, is enough; "" where not
  std::string worded_after;  ///< results that had been seen when the claim was worded; "" for none
  std::vector<std::string> reference;  ///< where the paper's number stands in data/paper_tables.json
  std::optional<double> paper_number;  ///< the same, of a number that stands in no table
  std::optional<double> from, to;      ///< the x that it covers; without: all
  /// What the best x must reach for the target to count as learned; without: learned_limit() of its curve.
  std::optional<double> learned_at;
  double significance = 0.05;  ///< of a false pass, and of a false fail
  bool log_error = true;       ///< values that are sampled are compared on logarithms, where the kind compares ratios
  bool deterministic = false;  ///< the values are computed, not sampled: one seed tells all, and a difference is real
};

/// What a study's author says of its claims in a sentence, and which verdicts that supposes.
struct StudyAnswer {
  std::string words;                      ///< "" for none
  std::vector<std::string> holds, fails;  ///< ids of claims
};

/// Whose it is: our own where it has no words.
ClaimSource source(const ClaimConfig& claim);

/// "paper", "theorem" or "ours".
const char* name(ClaimSource source);

/// The claim in words; "" where the study says none.
std::string own_words(const ClaimConfig& claim);
/// The same, or the claim's name.
std::string in_words(const ClaimConfig& claim);

/// The first key that its kind requires and it lacks, if any.
std::optional<RequiredKey> missing_key(const ClaimConfig& claim);

/// "[2, 3]", "[−∞, 3]".
std::string interval(const Limits& limits);

/// What the claim is called in a list: `optimum_at [32]`, `interior_optimum · D 256`.
std::string claim_name(const ClaimConfig& claim);

}  // namespace headroom::experiments
