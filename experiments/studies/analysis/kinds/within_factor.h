#pragma once
#include "experiments/studies/analysis/kinds/worse_than_best.h"

namespace headroom::experiments {

/// The error at `at` is at most `factor` times that of every other x: a test of equivalence against each of them. With
/// the same factor it is the opposite of worse_than_best.
struct WithinFactor : WorseThanBest {
  WithinFactor() : WorseThanBest("within_factor", Effect::at_most) {}

  std::string details(const ClaimKeys& keys) const override {
    return keys.at ? fmt::format(" {} ≤ {}×", exact(*keys.at), exact(keys.factor)) : "";
  }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    const ClaimKeys& keys = c.claim.keys;
    std::vector<Hypothesis> near;
    for (const Point* rival : c.points({*keys.at}))
      near.push_back(c.not_worse(*c.curve.at(*keys.at), *rival, keys.factor));
    return Hypothesis::all_of(std::move(near));
  }

  Finding measure(const Case& c) const override {
    const Point& point = *c.curve.at(*c.claim.keys.at);
    const Point& best = c.best(c.points({point.x}));
    Finding out = compared(c, point, best, c.near_limits());
    if (const Point* rival = open_rival(c, point, best))
      out.intervals.push_back(c.ratio("ratio_to_open_x", point, *rival, c.curve.points.size() - 1, c.near_limits()));
    return out;
  }

 private:
  /// Where the comparison with the best other x passes by itself, the x with which it is farthest from passing; nullptr
  /// where every comparison passes, or already the best other's does not.
  static const Point* open_rival(const Case& c, const Point& point, const Point& best) {
    const auto p = [&](const Point& rival) { return c.not_worse(point, rival, c.claim.keys.factor).evidence().p; };
    const Point* worst = &best;
    for (const Point* rival : c.points({point.x}))
      if (p(*rival) > p(*worst)) worst = rival;
    const double level = c.significance();
    return p(best) <= level && p(*worst) > level ? worst : nullptr;
  }
};

}  // namespace headroom::experiments
