#pragma once
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiments/studies/claims/reference.h"
#include "experiments/studies/claims/study_results.h"

namespace headroom::experiments {

/// undecided: measured, but the data cannot tell. not_run: something that the claim needs was not measured.
enum class VerdictStatus { pass, fail, undecided, not_run };

/// Where a number was measured, and the mean there.
struct MeasuredPoint {
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();

  double x = none, value = none;
  std::string whose{};           ///< the series or metric, where it is not the claim's
  std::string sign{};            ///< "≥ " where `value` is a lower bound, "≤ " where an upper one
  size_t bounds = 0, seeds = 0;  ///< seeds whose value is a bound, and all; 0 where none can be
};

/// A measured ratio, difference or slope with its confidence interval.
struct ConfidenceInterval {
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();

  std::string name;  ///< "ratio_high"; "ratio_high_difference" where a difference stands for the ratio
  double value = none;
  double low = none, high = none;  ///< NaN below two seeds, and where the value was computed
  double level = none;             ///< 0.9: probability that the number lies inside; each end is missed as often
  std::string method{};            ///< "t", "t on logs", "crossed t on logs, Bonferroni over 4", "Fieller"; "" for none
  std::string sign{};              ///< as of a point's mean
  Limits claimed{};                ///< where the claim has it, or the ratio; open where no single limit decides
  MeasuredPoint of{}, to{};        ///< the number is that of `of`, compared with `to`

  /// Whether it is a difference that stands for a ratio.
  bool is_difference() const { return name.ends_with("_difference"); }
};

/// What a kind measured for a claim.
struct Finding {
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();

  double measured = none;                              ///< the one number that says most; NaN when not run
  std::vector<double> values;                          ///< those that the kind's `numbers` name, without the seeds
  std::vector<ConfidenceInterval> intervals{};         ///< of the ratios, differences and slopes among them
  std::vector<MeasuredPoint> points{};                 ///< that its words name besides those of the intervals
  std::optional<bool> holds{};                         ///< of a claim that is counted, not tested
  size_t unjudged = 0;                                 ///< trials without a value or a bound
  std::vector<std::pair<PaperPath, double>> beside{};  ///< our numbers for numbers in the paper's tables
};

/// What leaves a claim open whatever is measured in its set-up, and the key that stands against it.
struct Hindrance {
  enum class What { one_value, end_of_values, reported_items, one_seed };
  What what;
  std::string key;     ///< "train.optimizer.lr"
  std::string reason;  ///< as the verdict says it; "" for one seed
};

/// What the measurements say about one claim; words/verdict_words.h says it in words.
struct Verdict : Finding {
  ClaimConfig claim;
  VerdictStatus status = VerdictStatus::not_run;
  VerdictStatus tested = VerdictStatus::not_run;  ///< what the p-values alone say
  double p = none;          ///< that the claim is false would show as much for it; after Holm; NaN if computed
  double p_against = none;  ///< that the claim is true would show as much against it; likewise
  std::vector<std::pair<std::string, double>> numbers;  ///< exact, in reading order: "best_x", "ratio_low", …
  std::string axis, metric;                             ///< "heads", and what is measured there; without axis: one x
  bool is_larger_better = false;                        ///< of that metric
  bool has_spread = true;  ///< false where a number is the same at every seed: then no test
  bool is_learned = true;  ///< false where what it hangs on has not learned the target: then neither pass nor fail
  bool is_tuned = true;    ///< false where an x has no rate chosen inside its grid: then neither, too
  std::vector<Hindrance> hindrances{};
  std::string needs;  ///< what else a claim needs that is left open, where more seeds are no remedy; "" for most
  bool has_choice_at_edge = false;  ///< a value was chosen at an end of those tried
  double margin = none;             ///< Hypothesis::margin(): how far it is from the other verdict
  std::optional<int> seeds_needed;  ///< that would decide an undecided claim, from the spread seen
  std::set<SeriesAndX> open{};      ///< where a further look of the study may decide it; empty where none can
  std::optional<int64_t> steps;     ///< of all trials that it compares, where they are trained alike
  std::optional<double> paper;      ///< the paper's number, where the claim names one
  std::string reason;               ///< why it was not judged, or is left open whatever its p-values; "" for most
  std::string why;                  ///< the claim's, its numbers filled in; shown where it fails
  std::vector<std::string> notes;   ///< what weakens it: failed seeds, choices at the edge of their grid

  /// One of `numbers`; NaN without it.
  double number(const std::string& name) const;
};

/// Whether it is pass or fail.
bool is_decided(const Verdict& verdict);

/// The verdicts of a study of which nothing was run: all not_run, with the reason.
std::vector<Verdict> not_judged(const std::vector<ClaimConfig>& claims, const std::string& reason);

/// "pass", "fail", "undecided" or "not run".
const char* name(VerdictStatus status);

}  // namespace headroom::experiments
