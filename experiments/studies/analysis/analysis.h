#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/studies/analysis/curve.h"
#include "experiments/studies/analysis/verdict.h"

namespace headroom::experiments {

/// A study's results with everything that is computed from them: its curves and its verdicts, each computed when it is
/// first asked for and kept. Safe to ask from several threads; what it returns lives as long as the analysis.
class Analysis : public StudyResults {
 public:
  explicit Analysis(StudyResults results);
  /// With verdicts that are known already: those of a study that was not run.
  Analysis(StudyResults results, std::vector<Verdict> verdicts);

  /// The curve of one series of `metric`; without one, of the report's. At each x the `best_of` choice is the one with
  /// the best mean over seeds, of mean_kind(), of the *report's* metric on validation, never on test: whatever metric
  /// is shown, it is that of the same trained models. Which direction is better: tasks::larger_is_better. A choice with
  /// a failed or missing seed comes after every complete one, because a mean over the seeds that survived would favour
  /// choices that diverge. A metric that is not finite counts as a failed trial. Throws Error when a finished trial
  /// lacks the metric, or when a choice is to be made and validation lacks the report's.
  const Curve& curve(const std::string& series, const std::string& metric = "") const;
  /// The curve of any test metric that pages show, at the choices of curve(series). A trial that lacks the metric, or
  /// whose value is not finite, is in no mean.
  const Curve& shown_curve(const std::string& series, const std::string& metric) const;

  /// Judges every claim of the study, in order, on the metric that it names (without one, the report's) of the test
  /// data, over the x in [from, to]. A claim is a Hypothesis on means over seeds (of the metric's logarithm where
  /// `log_error`), with the smallest effect that counts in it. It passes where its p, adjusted by Holm over all claims
  /// of the study that were measured on samples, is at most `significance` times its look's share (looks.h), and fails
  /// where the p of the opposite, adjusted likewise, is. So in a study the probability of even one false pass is at
  /// most the significance, and so is that of even one false fail. What was computed, and not sampled, is compared as
  /// it is. Between claims that exclude each other, no two pass. Which direction is better follows from the metric
  /// (tasks::larger_is_better); a ratio of errors says how many times *worse*. What each kind claims: kinds/.
  ///
  /// Where the values are sampled shares of a target's variance, and even the best is above unlearned_share, ratios say
  /// nothing about how many heads the target needs: such a claim is undecided, and more seeds will not change that. An
  /// x some of whose seeds are above it decides nothing, though others may. Undecided, too, is a claim that compares x
  /// at a single learning rate, or at one that stands at an end of its grid, unless it says why that is enough
  /// (ClaimConfig::single_rate), and one whose rates were chosen on the items that are reported. Of an undecided one
  /// where a model of twice the size is no better, it is not said how many seeds would decide. In both, seeds are still
  /// added: those that are there are not thrown away for a reason that no seed changes.
  ///
  /// An x without a finished trial or a sweep that is not complete gives `not_run`, a claim that neither p decides
  /// `undecided`. Throws Error for a series that does not exist.
  const std::vector<Verdict>& verdicts() const;

 private:
  using Curves = std::map<std::pair<std::string, std::string>, Curve>;  // by series and metric
  struct Kept {
    std::recursive_mutex mutex;
    Curves curves, shown;
    std::optional<std::vector<Verdict>> verdicts;
  };

  Curve compute_curve(const std::string& series, const std::string& metric) const;
  Curve compute_shown(const std::string& series, const std::string& metric) const;
  std::vector<Verdict> judge() const;

  std::unique_ptr<Kept> kept_ = std::make_unique<Kept>();
};

/// The analysis of a study's results: the one source of curves and verdicts for pages, rounds, plans and exports.
inline Analysis analyse(StudyResults results) { return Analysis(std::move(results)); }

/// By id and profile; one that is there twice is kept once.
std::vector<Analysis> in_order(std::vector<Analysis> studies);

}  // namespace headroom::experiments
