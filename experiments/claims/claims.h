#pragma once
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/claims/reference.h"
#include "experiments/claims/study_results.h"

namespace headroom::experiments {

/// undecided: measured, but the data cannot tell. not_run: something that the claim needs was not measured.
enum class VerdictStatus { pass, fail, undecided, not_run };

/// What the measurements say about one claim.
struct Verdict {
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();

  ClaimConfig claim;
  VerdictStatus status = VerdictStatus::not_run;
  double measured = none;                               ///< the one number that says most; NaN when not run
  double p = none;                                      ///< of the test that decides; NaN where there is none
  std::optional<int> seeds_needed;                      ///< that would decide an undecided claim, from the spread seen
  std::optional<double> paper;                          ///< the paper's number, where the claim names one
  std::vector<std::pair<PaperPath, double>> beside;     ///< our numbers for numbers in the paper's tables
  std::vector<std::pair<std::string, double>> numbers;  ///< exact, in reading order: "best_x", "p_low", "ratio_low", …
  std::string summary;                                  ///< the numbers in a few characters: "p = 0.003 / 0.0004"
  std::string sentence;                                 ///< the verdict in plain words
  std::vector<std::string> notes;  ///< what weakens it: failed seeds, choices at the edge of their grid
};

/// Judges every claim of the study, in order, on the metric that it names (without one, the report's) of the test data,
/// over the x in [from, to]. "Error" below is the metric averaged over seeds: the mean, or the geometric mean where the
/// claim sets `log_error` (tests then run on the logarithm, too). Which direction is better follows from the metric
/// (tasks::larger_is_better); a ratio of errors says how many times *worse*. Tests are paired over seeds, one-sided,
/// at `significance`. What each kind claims: kinds/.
///
/// Fewer than two seeds give `undecided` (unless the claim is `deterministic`, or what is claimed of *every* value
/// is already refuted), an x without a finished trial or a sweep that is not complete `not_run`. Throws Error for
/// a series that does not exist.
std::vector<Verdict> judge(const StudyResults& results);

/// The verdicts of a study of which nothing was run: all not_run, with the reason.
std::vector<Verdict> not_judged(const std::vector<ClaimConfig>& claims, const std::string& reason);

/// "pass", "fail", "undecided" or "not run".
const char* name(VerdictStatus status);

}  // namespace headroom::experiments
