#pragma once
#include <string>
#include <utility>
#include <vector>

#include "experiments/studies/analysis/analysis.h"
#include "experiments/studies/analysis/hypothesis.h"

namespace headroom::experiments {

/// Points with their weights in a sum.
using Terms = std::vector<std::pair<const Point*, double>>;

/// A sum of weights × values of some points over the seeds that all of them have, of logarithms where `logs`, with the
/// values on parts of the test data where all trials kept as many.
Sample combined_sample(const Terms& terms, bool logs);

/// An estimate with its two-sided interval of that level; without one where the number was computed, or the level is 0.
ConfidenceInterval interval_of(const std::string& name, const Estimate& number, double level);
/// The exponential of an interval on logarithms: of the mean of log a − log b, the ratio of the geometric means.
ConfidenceInterval exponential(ConfidenceInterval logs);

/// What every judge works on: one claim and the curve that it is about.
struct Case {
  const Analysis& study;
  const ClaimConfig& claim;
  const Curve curve;       ///< of the claim's metric, x in [from, to]
  const std::string axis;  ///< "heads"

  /// What the claim may spend: its significance times its look's share.
  double significance() const { return claim.significance * study.looks.share(series_of(study, claim)); }
  /// The mean over seeds that the claim compares.
  double value(const Point& p) const { return on_logs() ? p.geometric_mean : p.mean; }
  /// Whether the claim's values are computed, or counted over trained models, and no means over parts of a text.
  bool is_computed() const;
  /// Ratios of values with an error are taken on logarithms, where the claim does not forbid it.
  bool on_logs() const { return claim.log_error && !is_computed(); }

  /// The best of some points: by the mean on validation where all of them have one, by the test data otherwise.
  const Point& best(const std::vector<const Point*>& points) const;
  /// What `than` names: its series or metric in the claim's range, or the claim's own curve.
  Curve rivals() const;
  /// All points but those at `without`.
  std::vector<const Point*> points(const std::vector<double>& without = {}) const;

  /// The estimate of combined_sample(), over parts of the text alone where the claim's values are computed.
  Estimate combine(const Terms& terms, bool logs = false) const;

  /// That the metric at `a` is at least, or at most, `times` that at `b`, with their reservations(). A computed tie is
  /// not enough if `strictly`.
  Hypothesis at_least(const Point& a, const Point& b, double times, bool strictly = false) const;
  Hypothesis at_most(const Point& a, const Point& b, double times) const;
  /// Which of some points were not learned at every seed: comparisons with them decide nothing.
  std::vector<Hypothesis::Reservation> reservations(const std::vector<const Point*>& compared) const;
  /// That `a` is at least `times` as bad as `b`, and more where that is 1; and that it is at most so.
  Hypothesis worse(const Point& a, const Point& b, double times) const;
  Hypothesis not_worse(const Point& a, const Point& b, double times) const;
  /// Where the claim has a ratio of two values of which it says the first is worse by the claim's factor, or is not.
  Limits worse_limits() const;
  Limits near_limits() const;
  /// How many times worse the mean of `a` is than that of `b`.
  double times_worse(const Point& a, const Point& b) const;

  /// The ratio of two points' means with its interval, or that of their difference where the claim is not on
  /// logarithms. It is one of `comparisons` that the data may single out: with Bonferroni's correction the interval
  /// holds whichever it is. `claimed` are limits of the ratio.
  ConfidenceInterval ratio(const std::string& name, const Point& a, const Point& b, size_t comparisons,
                           const Limits& claimed = {}) const;
  /// The interval of a number: two-sided, of level 1 − 2 · significance, so that each end is a one-sided test.
  ConfidenceInterval interval(const std::string& name, const Estimate& number, size_t comparisons = 1,
                              const Limits& claimed = {}) const;

  MeasuredPoint place(const Point& p) const { return {.x = p.x, .value = value(p)}; }
  /// "heads = 4".
  std::string at(const Point& p) const;
};

/// The curve of a series without the x outside the claim's [from, to], with the seeds marked that learned the target.
Curve curve_in_range(const Analysis& study, const std::string& series, const std::string& metric,
                     const ClaimConfig& claim);

// What leaves a claim that compares trained models open, whatever its p-values: a reason in words, none where there is
// none.

/// The claim's own series, and the other one where it compares two.
std::vector<Curve> compared_curves(const Case& c);

/// Not even the best value of the series that it compares has learned the target.
std::optional<std::string> unlearned(const Case& c);

/// What its set-up has against any decision about trained models, in the order in which it counts: a key of which one
/// value was tried or whose best stands at an end of those tried, so that another may turn the comparison; a best value
/// chosen on the items that it is tested on, where luck with those items counts as skill; one seed.
std::vector<Hindrance> hindrances(const Case& c);

/// A model with at least twice the parameters of another on its curve has no cross-entropy that is lower by the
/// smallest effect that counts: the training fell short, and more seeds would say more exactly by how much, but not
/// what the models can do.
std::optional<std::string> outgrown(const Case& c);

}  // namespace headroom::experiments
