#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// Each end is at least `factor` times as bad as some x between them (of `among`, where that is given). For each end
/// any of the k candidates will do: the smallest of their p times k; and both ends must be worse: the larger of the
/// two. So the level holds whichever x the data prefer.
struct InteriorOptimum : ClaimKind {
  InteriorOptimum() : InteriorOptimum("interior_optimum", Effect::at_least) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope& scope) const override {
    keys.factor = read_factor(in);
    keys.among = read_among(in, scope);
    const std::vector<double> x = scope.x();
    if (x.size() < 3) return;
    for (const double inside : keys.among)
      if (inside == x.front() || inside == x.back())
        in.complain("among", fmt::format("{} = {} is an end of the claim's range", scope.x_name(), exact(inside)));
  }

  std::string details(const ClaimKeys& keys) const override { return list_of(keys.among) + sized("≥", keys.factor); }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    std::vector<Hypothesis> ends;
    for (const Point* end : {&c.curve.points.front(), &c.curve.points.back()}) {
      std::vector<Hypothesis> worse;
      for (const Point* point : candidates(c)) worse.push_back(c.worse(*end, *point, c.claim.keys.factor));
      ends.push_back(Hypothesis::any_of(std::move(worse)));
    }
    return Hypothesis::all_of(std::move(ends));
  }

  Finding measure(const Case& c) const override {
    const std::vector<const Point*> inside = candidates(c);
    if (inside.empty()) fail("an interior optimum needs a value of {} between two others", c.axis);
    const Point &low = c.curve.points.front(), &high = c.curve.points.back(), &best = c.best(inside);
    const Limits limits = effect == Effect::at_least ? c.worse_limits() : c.near_limits();
    return {.measured = best.x,
            .values = {best.x, c.value(low) / c.value(best), c.value(high) / c.value(best)},
            .intervals = {c.ratio("ratio_low", low, best, inside.size(), limits),
                          c.ratio("ratio_high", high, best, inside.size(), limits)}};
  }

 protected:
  InteriorOptimum(const char* kind, Effect effect)
      : ClaimKind({.name = kind,
                   .form = Form::ends,
                   .numbers = {"best_x", "ratio_low", "ratio_high", "seeds"},
                   .compares = true,
                   .effect = effect,
                   .least_points = 3,
                   .what = "an interior optimum"}) {}

 private:
  /// The points between the ends, of `among` where that is given.
  static std::vector<const Point*> candidates(const Case& c) {
    std::vector<const Point*> inside;
    const auto& points = c.curve.points;
    const std::vector<double>& among = c.claim.keys.among;
    for (size_t i = 1; i + 1 < points.size(); ++i)
      if (among.empty() || std::count(among.begin(), among.end(), points[i].x) > 0) inside.push_back(&points[i]);
    return inside;
  }
};

}  // namespace headroom::experiments
