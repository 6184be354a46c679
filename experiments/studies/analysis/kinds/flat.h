#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// No value is more than `factor` times another: a test of equivalence for each pair of x, in both directions. Where
/// values are computed, every seed's value is compared.
struct Flat : ClaimKind {
  Flat()
      : ClaimKind({.name = "flat",
                   .form = Form::range,
                   .numbers = {"smallest_x", "largest_x", "ratio", "seeds"},
                   .required = {{"factor", "a factor above 1: how far apart values may be"}},
                   .compares = true,
                   .effect = Effect::at_most,
                   .least_points = 2,
                   .what = "a flat curve"}) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope&) const override { keys.factor = read_factor(in); }

  std::string details(const ClaimKeys& keys) const override { return sized("≤", keys.factor); }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    const double factor = c.claim.keys.factor;
    if (c.is_computed()) {
      double smallest = INFINITY, largest = -INFINITY;
      for (const Point& p : c.curve.points)
        for (const auto& entry : p.values) {
          smallest = std::min(smallest, entry.second);
          largest = std::max(largest, entry.second);
        }
      return Hypothesis::at_least(Estimate::computed(factor * smallest - largest), 0);
    }
    std::vector<Hypothesis> pairs;
    for (const Point& a : c.curve.points)
      for (const Point& b : c.curve.points)
        if (a.x != b.x) pairs.push_back(c.at_most(a, b, factor));
    return Hypothesis::all_of(std::move(pairs));
  }

  Finding measure(const Case& c) const override {
    const auto& points = c.curve.points;
    const auto [least, most] = std::minmax_element(
        points.begin(), points.end(), [&](const Point& a, const Point& b) { return c.value(a) < c.value(b); });
    const double ratio = c.value(*most) / c.value(*least);
    return {.measured = ratio,
            .values = {least->x, most->x, ratio},
            .intervals = {
                c.ratio("ratio", *most, *least, points.size() * (points.size() - 1), {.high = c.claim.keys.factor})}};
  }
};

}  // namespace headroom::experiments
