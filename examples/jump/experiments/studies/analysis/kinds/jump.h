#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// Between some two neighbours in x the value changes by at least `factor` times in `direction`. Any two will do, so
/// the smallest of their p counts as often as there are neighbours.
struct Jump : ClaimKind {
  Jump()
      : ClaimKind({.name = "jump",
                   .numbers = {"jump_x", "ratio", "seeds"},
                   .compares = true,
                   .effect = Effect::at_least,
                   .least_points = 2,
                   .what = "a jump"}) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope&) const override {
    keys.factor = read_factor(in);
    keys.direction = in.word("direction", {"", "none: required"}, {"falling", "rising"}, "of the values as x grows");
  }

  std::optional<MissingKey> missing(const ClaimConfig& claim) const override {
    return unless(!claim.keys.direction.empty(), "direction", "falling or rising");
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

  std::string measure(const Case& c, Verdict& verdict) const override {
    const auto& points = c.curve.points;
    const auto size = [&](size_t i) {
      const auto [high, low] = ordered(c, points[i - 1], points[i]);
      return c.value(high) / c.value(low);
    };
    size_t jump = 1;
    for (size_t i = 2; i < points.size(); ++i)
      if (size(i) > size(jump)) jump = i;
    const auto [high, low] = ordered(c, points[jump - 1], points[jump]);
    const ConfidenceInterval ratio = c.ratio("ratio", high, low, points.size() - 1);
    verdict.measured = size(jump);
    verdict.numbers = {{"jump_x", points[jump].x}, {"ratio", verdict.measured}};
    verdict.intervals = {ratio};
    verdict.summary = fmt::format("{} at {}", in_brackets(ratio), exact(points[jump].x));
    verdict.found = fmt::format("the largest step of the {} in the direction claimed, from {} to {}, is {}", c.noun(),
                                c.at(points[jump - 1]), exact(points[jump].x), in_brackets(ratio));
    verdict.claimed = c.claim.keys.factor > 1 ? fmt::format("one of at least {}×", exact(c.claim.keys.factor)) : "one";
    return "";
  }
};

}  // namespace headroom::experiments
