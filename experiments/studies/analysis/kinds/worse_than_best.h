#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// The error at `at` is at least `factor` times that of some other x: any of the k others will do, so the smallest of
/// their p counts k times.
struct WorseThanBest : ClaimKind {
  WorseThanBest() : WorseThanBest("worse_than_best", Effect::at_least) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope& scope) const override {
    keys.at = read_at(in, scope);
    keys.factor = read_factor(in);
  }

  std::string details(const ClaimKeys& keys) const override {
    return (keys.at ? " at " + exact(*keys.at) : "") + sized("≥", keys.factor);
  }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    const ClaimKeys& keys = c.claim.keys;
    std::vector<Hypothesis> worse;
    for (const Point* other : c.points({*keys.at}))
      worse.push_back(c.worse(*c.curve.at(*keys.at), *other, keys.factor));
    return Hypothesis::any_of(std::move(worse));
  }

  Finding measure(const Case& c) const override {
    const Point& point = *c.curve.at(*c.claim.keys.at);
    const Point& best = c.best(c.points({point.x}));
    return compared(c, point, best, c.worse_limits());
  }

 protected:
  WorseThanBest(const char* kind, Effect effect)
      : ClaimKind({.name = kind,
                   .form = Form::best,
                   .numbers = {"ratio", "best_x", "seeds"},
                   .required = {{"at", "the x to be judged"}},
                   .compares = true,
                   .effect = effect,
                   .least_points = 2,
                   .what = "a comparison with the best"}) {}

  /// How much worse a point is than the best of the others.
  static Finding compared(const Case& c, const Point& point, const Point& best, const Limits& limits) {
    return {.measured = c.times_worse(point, best),
            .values = {c.value(point) / c.value(best), best.x},
            .intervals = {c.ratio("ratio", point, best, c.curve.points.size() - 1, limits)}};
  }
};

}  // namespace headroom::experiments
