#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// No value is more than `factor` times another: a test of equivalence for each pair of x, in both directions. Where
/// values are computed, every seed's value is compared.
struct Flat : ClaimKind {
  Flat()
      : ClaimKind({.name = "flat",
                   .numbers = {"smallest_x", "largest_x", "ratio", "seeds"},
                   .compares = true,
                   .effect = Effect::at_most,
                   .least_points = 2,
                   .what = "a flat curve"}) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope&) const override { keys.factor = read_factor(in); }

  std::optional<MissingKey> missing(const ClaimConfig& claim) const override {
    return unless(claim.keys.factor > 1, "factor", "a factor above 1: how far apart values may be");
  }

  std::string details(const ClaimKeys& keys) const override { return sized("≤", keys.factor); }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    const double factor = c.claim.keys.factor;
    if (c.claim.deterministic) {
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

  Limits limits(const ClaimKeys& keys, const std::string& interval, bool) const override {
    return interval == "ratio" ? Limits{.high = keys.factor} : Limits{};
  }

  std::string measure(const Case& c, Verdict& verdict) const override {
    const auto& points = c.curve.points;
    const auto [least, most] = std::minmax_element(
        points.begin(), points.end(), [&](const Point& a, const Point& b) { return c.value(a) < c.value(b); });
    const ConfidenceInterval ratio = c.ratio("ratio", *most, *least, points.size() * (points.size() - 1));
    verdict.measured = c.value(*most) / c.value(*least);
    verdict.numbers = {{"smallest_x", least->x}, {"largest_x", most->x}, {"ratio", verdict.measured}};
    verdict.intervals = {ratio};
    verdict.summary = in_brackets(ratio);
    verdict.found =
        fmt::format("the largest {}, {} at {}, is {} the smallest, {} at {}", c.curve.metric, rounded(c.value(*most)),
                    c.at(*most), in_brackets(ratio), rounded(c.value(*least)), c.at(*least));
    verdict.claimed = fmt::format("at most {} times", exact(c.claim.keys.factor));
    verdict.brief = {fmt::format("{} {} of {}", c.label(*most), in_brackets(ratio), c.label(*least)),
                     fmt::format("needs ≤ {}×", exact(c.claim.keys.factor))};
    return "";
  }
};

}  // namespace headroom::experiments
