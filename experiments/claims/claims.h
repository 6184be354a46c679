#pragma once
#include <string>
#include <utility>
#include <vector>

#include "experiments/results.h"

namespace headroom::experiments {

/// underpowered: measured, but with too few seeds to tell. not_run: something the claim speaks of was not measured.
enum class VerdictStatus { pass, fail, underpowered, not_run };

/// What the measurements say about one claim.
struct Verdict {
  ClaimConfig claim;
  VerdictStatus status = VerdictStatus::not_run;
  std::vector<std::pair<std::string, double>> numbers;  ///< exact, in reading order: "best_x", "p_low", "ratio_low", …
  std::string summary;                                  ///< the numbers in a few characters: "p = 0.003 / 0.0004"
  std::string sentence;                                 ///< the verdict in plain words
  std::vector<std::string> notes;  ///< what weakens it: failed seeds, choices at the edge of their grid
};

/// Judges every claim of the study, in order. "Error" below is the report's metric on the test data, averaged over
/// seeds: the mean, or the geometric mean where the claim sets `log_error` (its tests then run on the logarithm, too).
///
/// interior_optimum: both ends are worse than the best x between them by a paired (over seeds) one-sided t-test at
///   `significance`, and have at least `factor` times its geometric mean. Both ends must hold, so the two tests need no
///   correction; the best x is picked on the same data it is tested on, as in the paper.
/// argmin_in: the x of the smallest error is one of `among`; a tie counts for the claim.
/// within_factor: the error at `at` is at most `factor` times the smallest.
///
/// Fewer than two seeds give `underpowered`, an x without a finished trial or a sweep that is not complete `not_run`.
/// Throws Error for an unknown kind, or a series that does not exist.
std::vector<Verdict> judge(const StudyResults& results);

/// The kinds of claim that judge() knows.
const std::vector<std::string>& claim_kinds();

/// "pass", "fail", "underpowered" or "not run".
const char* name(VerdictStatus status);

/// How the claim is called in a list: `argmin_in [32]`, `interior_optimum · D 256`.
std::string claim_name(const ClaimConfig& claim);

}  // namespace headroom::experiments
