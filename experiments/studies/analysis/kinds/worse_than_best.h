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

  std::optional<MissingKey> missing(const ClaimConfig& claim) const override {
    return unless(claim.keys.at.has_value(), "at", "the x to be judged");
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

  std::string measure(const Case& c, Verdict& verdict) const override {
    compare_with_best(c, verdict);
    verdict.claimed = as_bad(c.claim.keys.factor);
    verdict.brief.push_back(needs_worse(c));
    return "";
  }

 protected:
  WorseThanBest(const char* kind, Effect effect)
      : ClaimKind({.name = kind,
                   .numbers = {"ratio", "best_x", "seeds"},
                   .compares = true,
                   .effect = effect,
                   .least_points = 2,
                   .what = "a comparison with the best"}) {}

  /// Compares the point with the best other one, which it returns: the ratio in the verdict's numbers and words.
  static const Point& compare_with_best(const Case& c, Verdict& verdict) {
    const Point& point = *c.curve.at(*c.claim.keys.at);
    const std::vector<const Point*> others = c.points({point.x});
    const Point& best = c.best(others);
    const ConfidenceInterval ratio = c.ratio("ratio", point, best, others.size());
    verdict.numbers = {{"ratio", c.value(point) / c.value(best)}, {"best_x", best.x}};
    verdict.intervals = {ratio};
    verdict.measured = c.times_worse(point, best);
    verdict.summary = fmt::format("{} of {}", in_brackets(ratio), exact(best.x));
    verdict.found = fmt::format("at {} the {} is {} that at {}, the best of the others", c.at(point), c.noun(),
                                in_brackets(ratio), c.at(best));
    verdict.brief = {fmt::format("{} {} of {}", c.label(point), in_brackets(ratio), c.label(best))};
    return best;
  }
};

}  // namespace headroom::experiments
