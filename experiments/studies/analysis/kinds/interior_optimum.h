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

  std::string measure(const Case& c, Verdict& verdict) const override {
    const std::vector<const Point*> inside = candidates(c);
    if (inside.empty()) return fmt::format("an interior optimum needs a value of {} between two others", c.axis);
    const Point &low = c.curve.points.front(), &high = c.curve.points.back(), &best = c.best(inside);
    const ConfidenceInterval at_low = c.ratio("ratio_low", low, best, inside.size());
    const ConfidenceInterval at_high = c.ratio("ratio_high", high, best, inside.size());
    verdict.numbers = {
        {"best_x", best.x}, {"ratio_low", c.value(low) / c.value(best)}, {"ratio_high", c.value(high) / c.value(best)}};
    verdict.intervals = {at_low, at_high};
    verdict.measured = best.x;
    verdict.summary = fmt::format("{} / {}", in_brackets(at_low), in_brackets(at_high));
    const double factor = c.claim.keys.factor;
    const auto shown = [&](const ConfidenceInterval& ratio) {
      const bool larger = c.curve.larger_is_better;
      const double least = larger ? 1 / ratio.high : ratio.low, most = larger ? 1 / ratio.low : ratio.high;
      const bool is_small = c.on_logs() && least > 1 && most < factor;
      return in_brackets(ratio) + (is_small ? " (worse, but by less than counts)" : "");
    };
    verdict.found = fmt::format("at {} the {} is {} that at {}, the best between the ends, and at {} it is {}",
                                c.at(low), c.noun(), shown(at_low), c.at(best), c.at(high), shown(at_high));
    verdict.claimed = as_bad(factor) + " at both ends";
    verdict.brief = {c.label(low) + " " + shown(at_low), c.label(high) + " " + shown(at_high), "of " + c.label(best),
                     needs_worse(c)};
    return "";
  }

 protected:
  InteriorOptimum(const char* kind, Effect effect)
      : ClaimKind({.name = kind,
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
