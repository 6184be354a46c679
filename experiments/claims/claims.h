#pragma once
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/claims/reference.h"
#include "experiments/claims/study_results.h"

namespace headroom::experiments {

/// underpowered: measured, but with too few seeds to tell. not_run: something the claim speaks of was not measured.
enum class VerdictStatus { pass, fail, underpowered, not_run };

/// What the measurements say about one claim.
struct Verdict {
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();

  ClaimConfig claim;
  VerdictStatus status = VerdictStatus::not_run;
  double measured = none;                               ///< the one number that says most; NaN when not run
  double p = none;                                      ///< of the test that decides; NaN where there is none
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
/// at `significance`.
///
/// interior_optimum: both ends are worse than the best x between them, significantly and at least `factor` times. Both
///   ends must hold, so the two tests need no correction; the best x is picked on the same data it is tested on, as in
///   the paper.
/// argmin_in: the best x is one of `among`; a tie counts for the claim.
/// within_factor: the error at `at` is at most `factor` times the best.
/// worse_than_best: the error at `at` is significantly worse than the best other, and at least `factor` times.
/// monotone: from x to x the error goes in `direction` or is tied (against it by at most the share `tolerance`, or not
///   significantly), and the last x differs from the first in that direction, significantly and at least `factor`
///   times.
/// slope: the least-squares slope over all seeds and x, on `axes`; its confidence interval lies in [low, high]. An
///   interval that sticks out around a slope inside is `underpowered`.
/// band: every seed's value lies in [low, high], and the largest is at most `factor` (when above 1) times the smallest.
/// less_than: the value is less than that of `than` (another series, metric or x), significantly, and `factor` times
///   it still is no more than that; without `at`, at every x that both have.
/// saturates: gain per doubling of x between the last two points ≤ `fraction` of that between the first two; a
///   bootstrap interval over seeds must lie below. An interval that sticks out is `underpowered`.
/// bound_holds: metric ≤ `bound` in every finished trial, chosen or not, with the ratio of the two as tightness.
/// within_percent: |error / target − 1| ≤ percent / 100 at `at`, or without it at every x; the target is the metric
///   `of`, the number `value`, or the paper's: one number, or a column of numbers by x.
///
/// Fewer than two seeds give `underpowered` (unless the claim is `deterministic`, or what is claimed of *every* value
/// is already refuted), an x without a finished trial or a sweep that is not complete `not_run`. Throws Error for an
/// unknown kind, or a series that does not exist.
std::vector<Verdict> judge(const StudyResults& results);

/// The verdicts of a study of which nothing was run: all not_run, with the reason.
std::vector<Verdict> not_judged(const std::vector<ClaimConfig>& claims, const std::string& reason);

/// A field that a claim's kind wants.
struct MissingField {
  std::string key, purpose;
};
/// The first that the claim lacks.
std::optional<MissingField> missing_field(const ClaimConfig& claim);

/// The kinds of claim that judge() knows.
const std::vector<std::string>& claim_kinds();

/// "pass", "fail", "underpowered" or "not run".
const char* name(VerdictStatus status);

/// How the claim is called in a list: `argmin_in [32]`, `interior_optimum · D 256`.
std::string claim_name(const ClaimConfig& claim);

}  // namespace headroom::experiments
