#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// Between some two neighbours in x the value changes by at least `factor` times in `direction`. Any two will do, so
/// the smallest of their p counts as often as there are neighbours.
struct Jump : ClaimKind {
  Jump()
      : ClaimKind({.name = "jump",
                   .form = Form::trend,
                   .numbers = {"jump_x", "ratio", "seeds"},
                   .required = {{"direction", "falling or rising"}},
                   .compares = true,
                   .effect = Effect::at_least,
                   .least_points = 2,
                   .what = "a jump"}) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope&) const override {
    keys.factor = read_factor(in);
    keys.direction = in.word("direction", {"", "none: required"}, {"falling", "rising"}, "of the values as x grows");
  }

  std::string details(const ClaimKeys& keys) const override { return " " + keys.direction + sized("≥", keys.factor); }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    std::vector<Hypothesis> steps;
    for (size_t i = 1; i < c.curve.points.size(); ++i) {
      const auto [high, low] = ordered(c, c.curve.points[i - 1], c.curve.points[i]);
      steps.push_back(c.at_least(high, low, c.claim.keys.factor, c.claim.keys.factor == 1));
    }
    return Hypothesis::any_of(std::move(steps));
  }

  Finding measure(const Case& c) const override {
    const auto& points = c.curve.points;
    const auto size = [&](size_t i) {
      const auto [high, low] = ordered(c, points[i - 1], points[i]);
      return c.value(high) / c.value(low);
    };
    size_t jump = 1;
    for (size_t i = 2; i < points.size(); ++i)
      if (size(i) > size(jump)) jump = i;
    const auto [high, low] = ordered(c, points[jump - 1], points[jump]);
    const double factor = c.claim.keys.factor;
    return {.measured = size(jump),
            .values = {points[jump].x, size(jump)},
            .intervals = {c.ratio("ratio", high, low, points.size() - 1, {.low = factor, .is_strict = factor == 1})}};
  }
};

}  // namespace headroom::experiments
