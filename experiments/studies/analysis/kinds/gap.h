#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// How many times the error of the series is that of another changes by `factor` at least from the first x to the last:
/// it gets less where the series "catches_up", more where it "falls_behind", on whichever side of 1 it is. One contrast
/// of four logarithms, paired over seeds. A gap that grows says nothing about capacity: whoever learns more slowly
/// falls behind, too. What a model cannot represent takes a lower bound on the error of all its weights; how much more
/// slowly it learns is StepsRatio.
struct Gap : ClaimKind {
  Gap()
      : ClaimKind({.name = "gap",
                   .form = Form::gap,
                   .numbers = {"ratio", "ratio_first", "ratio_last", "seeds"},
                   .required = {{"than", "the series that it is compared with"},
                                {"direction", "catches_up or falls_behind"},
                                {"log_error", "logarithms: it compares ratios"}},
                   .compares = true,
                   .least_points = 2,
                   .what = "a change of a gap"}) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope& scope) const override {
    keys.factor = read_factor(in);
    keys.direction =
        in.word("direction", {"", "none: required"}, {"catches_up", "falls_behind"},
                "whether the series catches up with the other (its lead grows, where it leads), or falls behind");
    keys.than.series = read_rival(in, scope);
    const std::vector<double> own = scope.x(), others = scope.x(keys.than.series);
    if (own.size() > 1 && !others.empty())
      for (const double x : {own.front(), own.back()}) scope.check_x(in, "than", x, keys.than.series);
  }

  std::string details(const ClaimKeys& keys) const override { return " " + keys.direction + " " + keys.than.series; }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    const double factor = c.claim.keys.factor;
    const Curve other = c.rivals();
    const Ends ends(c.curve, other);
    const Estimate change = ends.change(c);
    const Hypothesis says = c.claim.keys.direction == "falls_behind"
                                ? Hypothesis::at_least(change, std::log(factor), factor == 1)
                                : Hypothesis::at_most(change, -std::log(factor));
    return says.with(c.reservations({ends.first, ends.last, ends.other_first, ends.other_last}));
  }

  Finding measure(const Case& c) const override {
    const double factor = c.claim.keys.factor;
    const std::string& rival = c.claim.keys.than.series;
    const Curve other = c.rivals();
    const Ends ends(c.curve, other);
    if (!ends.complete()) fail("{} has not been measured at the first and the last {}", rival, c.axis);
    const double first = std::exp(ends.log_ratios(c, 1, 0).value), last = std::exp(ends.log_ratios(c, 0, 1).value);
    const Limits limits = c.claim.keys.direction == "catches_up" ? Limits{.high = 1 / factor} : Limits{.low = factor};
    ConfidenceInterval ratio = exponential(c.interval("ratio", ends.change(c), 1, limits));
    ratio.of = {.x = ends.last->x, .value = last};
    ratio.to = {.x = ends.first->x, .value = first};
    return {.measured = ratio.value, .values = {ratio.value, first, last}, .intervals = {ratio}};
  }

 private:
  /// Two series at the first and the last x that the claim covers.
  struct Ends {
    const Point *first, *last, *other_first, *other_last;

    Ends(const Curve& own, const Curve& other)
        : first(&own.points.front()),
          last(&own.points.back()),
          other_first(other.at(first->x)),
          other_last(other.at(last->x)) {}

    bool complete() const {
      return other_first && other_last && !other_first->values.empty() && !other_last->values.empty();
    }
    /// log of how many times as bad the one series is as the other, at the last x less that at the first.
    Estimate change(const Case& c) const { return log_ratios(c, -1, 1); }
    /// The logs at the first and the last x with these weights, over the seeds that all four points have, so that what
    /// is said of either adds up to the change.
    Estimate log_ratios(const Case& c, double at_first, double at_last) const {
      const double sign = c.curve.larger_is_better ? -1 : 1, a = sign * at_first, b = sign * at_last;
      return c.combine({{last, b}, {other_last, -b}, {first, a}, {other_first, -a}}, true);
    }
  };
};

}  // namespace headroom::experiments
