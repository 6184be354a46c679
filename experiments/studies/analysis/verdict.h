#pragma once
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/studies/claims/reference.h"
#include "experiments/studies/claims/study_results.h"

namespace headroom::experiments {

/// undecided: measured, but the data cannot tell. not_run: something that the claim needs was not measured.
enum class VerdictStatus { pass, fail, undecided, not_run };

/// A measured ratio, difference or slope with its confidence interval.
struct ConfidenceInterval {
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();

  std::string name;  ///< "ratio_high"; "ratio_high_difference" where a difference stands for the ratio
  double value = none;
  double low = none, high = none;  ///< NaN below two seeds, and where the value was computed
  double level = none;             ///< 0.9: probability that the number lies inside; each end is missed as often
  std::string method{};            ///< "t", "t on logs", "crossed t on logs, Bonferroni over 4", "Fieller"; "" for none
  std::string sign{};              ///< "≥ " where `value` is a lower bound, "≤ " where an upper one
};

/// What the measurements say about one claim.
struct Verdict {
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();

  ClaimConfig claim;
  VerdictStatus status = VerdictStatus::not_run;
  double measured = none;   ///< the one number that says most; NaN when not run
  double p = none;          ///< that the claim is false would show as much for it; after Holm's correction
  double p_against = none;  ///< that the claim is true would show as much against it; likewise
  bool is_learned = true;   ///< false where what it hangs on has not learned the target: then neither pass nor fail
  bool is_tuned = true;     ///< false where an x has no rate chosen inside its grid: then neither, too
  std::string needs;        ///< what else a claim needs that is left open, where more seeds are no remedy; "" for most
  bool has_choice_at_edge = false;                      ///< a value was chosen at an end of those tried
  double margin = none;                                 ///< Hypothesis::margin(): how far it is from the other verdict
  std::optional<int> seeds_needed;                      ///< that would decide an undecided claim, from the spread seen
  std::optional<double> paper;                          ///< the paper's number, where the claim names one
  std::vector<std::pair<PaperPath, double>> beside;     ///< our numbers for numbers in the paper's tables
  std::vector<std::pair<std::string, double>> numbers;  ///< exact, in reading order: "best_x", "ratio_low", …
  std::vector<ConfidenceInterval> intervals;            ///< of the ratios, differences and slopes among them
  std::string effect;                                   ///< the numbers in a few characters: "2.9× [2.1, 4.0]"
  std::string summary;                                  ///< the same with its p: "2.9× [2.1, 4.0], p = 0.003"
  std::string found;     ///< what was measured, as a clause: "at heads = 1 the error is 3.1× that at heads = 8"
  std::string claimed;   ///< what the claim says of that: "at least 1.1 times as bad"; "" where `found` says it
  std::string sentence;  ///< the verdict in plain words: comparison() and what it decides
  /// The numbers, each with what it belongs to, and what the claim needs: "1 head 4.17× [2.68, 6.48]", "needs ≥ 1.1×".
  std::vector<std::string> brief;
  std::string open;                ///< of an undecided one: what would decide it, or why more seeds would not
  std::string why;                 ///< the claim's, its numbers filled in; shown where it fails
  std::vector<std::string> notes;  ///< what weakens it: failed seeds, choices at the edge of their grid

  /// What was measured and claimed, in sentences; "" when not run.
  std::string comparison() const;
};

/// Whether it is pass or fail.
bool is_decided(const Verdict& verdict);

/// The verdicts of a study of which nothing was run: all not_run, with the reason.
std::vector<Verdict> not_judged(const std::vector<ClaimConfig>& claims, const std::string& reason);

/// "pass", "fail", "undecided" or "not run".
const char* name(VerdictStatus status);

}  // namespace headroom::experiments
