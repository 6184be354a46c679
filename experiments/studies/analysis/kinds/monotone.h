#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// From x to x the value goes in `direction`, or against it by at most the share `tolerance`: a test of equivalence for
/// each step, which a step that is merely not significant does not pass. And from the first x to the last it changes in
/// that direction by at least `factor` times.
struct Monotone : ClaimKind {
  Monotone()
      : ClaimKind({.name = "monotone",
                   .form = Form::trend,
                   .numbers = {"first", "last", "ratio", "worst_x", "worst_step", "seeds"},
                   .required = {{"direction", "falling or rising"}},
                   .compares = true,
                   .least_points = 2,
                   .what = "a trend"}) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope&) const override {
    keys.factor = read_factor(in);
    keys.direction = in.word("direction", {"", "none: required"}, {"falling", "rising"}, "of the values as x grows");
    keys.tolerance =
        in.real("tolerance", keys.tolerance, fraction, "a step against the direction by this share is a tie");
  }

  std::string details(const ClaimKeys& keys) const override { return " " + keys.direction; }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    const auto& points = c.curve.points;
    const double factor = c.claim.keys.factor;
    std::vector<Hypothesis> parts;
    for (size_t i = 1; i < points.size(); ++i) {
      const auto [high, low] = ordered(c, points[i - 1], points[i]);
      parts.push_back(c.at_most(low, high, 1 + c.claim.keys.tolerance));
    }
    const auto [high, low] = ordered(c, points.front(), points.back());
    parts.push_back(c.at_least(high, low, factor, factor == 1));
    return Hypothesis::all_of(std::move(parts));
  }

  Finding measure(const Case& c) const override {
    const auto& points = c.curve.points;
    const auto against = [&](size_t i) {
      const auto [high, low] = ordered(c, points[i - 1], points[i]);
      return c.value(low) / c.value(high);
    };
    size_t worst = 1;
    for (size_t i = 2; i < points.size(); ++i)
      if (against(i) > against(worst)) worst = i;
    const Point &first = points.front(), &last = points.back();
    const auto [high, low] = ordered(c, first, last);
    const auto [step_high, step_low] = ordered(c, points[worst - 1], points[worst]);
    const ClaimKeys& keys = c.claim.keys;
    return {.measured = c.value(high) / c.value(low),
            .values = {c.value(first), c.value(last), c.value(high) / c.value(low), points[worst].x, against(worst)},
            .intervals = {c.ratio("ratio", high, low, 1, {.low = keys.factor, .is_strict = keys.factor == 1}),
                          c.ratio("worst_step", step_low, step_high, points.size() - 1, {.high = 1 + keys.tolerance})}};
  }
};

}  // namespace headroom::experiments
