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

  std::string measure(const Case& c, Verdict& verdict) const override {
    const Point& point = *c.curve.at(*c.claim.keys.at);
    const Point& best = compare_with_best(c, verdict);
    verdict.claimed = fmt::format("at most {} times as bad as any other", exact(c.claim.keys.factor));
    if (const Point* rival = open_rival(c, point, best)) {
      const ConfidenceInterval ratio = c.ratio("ratio_to_open_x", point, *rival, c.curve.points.size() - 1);
      verdict.intervals.push_back(ratio);
      verdict.summary += fmt::format(", {} of {}", in_brackets(ratio), exact(rival->x));
      verdict.found += fmt::format(", and {} that at {}, which leaves it open", in_brackets(ratio), c.at(*rival));
      verdict.brief.push_back(fmt::format("{} of {}", in_brackets(ratio), c.label(*rival)));
    }
    verdict.brief.push_back(needs_near(c));
    return "";
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
