#pragma once
#include <map>

#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// The best x of the series is another than that of a second series, or, with a `direction`, larger or smaller. That is
/// false where some x is the best of both, so each x has to be ruled out: by any x that beats it by `factor` in either
/// series. All x are ruled out by the largest of their p, without correction; any of the m rivals of one does so by the
/// smallest of theirs, times m. So nothing is tested on the x that the data prefer. A direction rules out more pairs of
/// x in the same way: that the best x is larger, all pairs in which it is not.
struct OptimumDiffers : ClaimKind {
  OptimumDiffers()
      : ClaimKind({.name = "optimum_differs",
                   .form = Form::bests,
                   .numbers = {"best_x", "other_best_x", "ratio", "seeds"},
                   .required = {{"than", "the series that it is compared with"}},
                   .compares = true,
                   .least_points = 2,
                   .what = "a best x"}) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope& scope) const override {
    keys.factor = read_factor(in);
    keys.direction = in.word("direction", {"", "either way"}, {"larger", "smaller"},
                             "whether the best x of the series is the larger or the smaller one");
    keys.than.series = read_rival(in, scope);
    const std::vector<double> own = scope.x(), others = scope.x(keys.than.series);
    if (keys.than.series.empty() || own.empty() || others.empty()) return;
    const auto is_shared = [&](double x) { return std::count(others.begin(), others.end(), x) > 0; };
    if (std::count_if(own.begin(), own.end(), is_shared) < 2)
      in.complain("than", fmt::format("a best {0} needs 2 values of {0} at which both are measured", scope.x_name()));
  }

  std::string details(const ClaimKeys& keys) const override {
    return fmt::format(" {}{}{}", keys.direction.empty() ? "" : keys.direction + " than ", keys.than.series,
                       sized("by", keys.factor));
  }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    const Curve other = c.rivals();
    std::map<const Point*, std::vector<Hypothesis>> beaten;
    for (const Curve* curve : {&c.curve, &other})
      for (const Point& point : curve->points)
        for (const Point& p : curve->points)
          if (&p != &point) beaten[&point].push_back(c.worse(point, p, c.claim.keys.factor));
    std::vector<Hypothesis> all;
    for (const auto& [own, rival] : pairs(c, other)) {
      std::vector<Hypothesis> any = beaten[own];
      any.insert(any.end(), beaten[rival].begin(), beaten[rival].end());
      all.push_back(Hypothesis::any_of(std::move(any)));
    }
    return Hypothesis::all_of(std::move(all));
  }

  Finding measure(const Case& c) const override {
    const Curve other = c.rivals();
    const Pairs compared = pairs(c, other);
    if (compared.empty()) fail("there is no {} at which both were measured", c.axis);
    for (const Point& p : other.points)
      if (p.values.empty()) fail("no trial of {} at {} finished", other.series, c.at(p));
    auto [pair, ratio] = least_cost(c, other, compared);
    const double best = c.best(c.points()).x, others = other.choose(other.all_points())->x;
    ratio.claimed = {.low = c.claim.keys.factor, .is_strict = c.claim.keys.factor == 1};
    ratio.of = {.x = pair.first->x, .whose = c.curve.series};
    ratio.to = {.x = pair.second->x, .whose = other.series};
    return {.measured = ratio.value, .values = {best, others, ratio.value}, .intervals = {ratio}};
  }

 private:
  /// An x of the series and one of the other that the claim says are not the best of the two.
  using Pairs = std::vector<std::pair<const Point*, const Point*>>;

  static Pairs pairs(const Case& c, const Curve& other) {
    const std::string& direction = c.claim.keys.direction;
    Pairs out;
    for (const Point& own : c.curve.points)
      for (const Point& rival : other.points)
        if (own.x == rival.x || (own.x < rival.x ? direction == "larger" : direction == "smaller"))
          out.emplace_back(&own, &rival);
    return out;
  }

  /// How many times as bad as another x of its series the one or the other of a pair is at most, for the pair of which
  /// that is least. The interval is the test turned round: the factors at which the claim would neither pass nor fail.
  static std::pair<Pairs::value_type, ConfidenceInterval> least_cost(const Case& c, const Curve& other,
                                                                     const Pairs& compared) {
    const std::string name = c.on_logs() || c.is_computed() ? "ratio" : "ratio_difference";
    ConfidenceInterval least = c.interval(name, Estimate::computed(INFINITY));
    Pairs::value_type where = compared.front();
    double low = INFINITY, high = INFINITY;
    for (const auto& pair : compared) {
      const size_t rivals = c.curve.points.size() + other.points.size() - 2;
      double value = -INFINITY, below = -INFINITY, above = -INFINITY;
      bool is_known = true;
      for (const auto& [curve, point] : {std::pair{&c.curve, pair.first}, {&other, pair.second}})
        for (const Point& p : curve->points) {
          if (p.x == point->x) continue;
          if (c.is_computed()) {
            value = std::max(value, c.times_worse(*point, p));
            continue;
          }
          const double sign = c.curve.larger_is_better ? -1 : 1;
          const Estimate apart = c.combine({{point, sign}, {&p, -sign}}, c.on_logs());
          value = std::max(value, apart.value);
          const ConfidenceInterval low_end = c.interval(name, apart, rivals);
          is_known = is_known && !std::isnan(low_end.low);
          below = std::fmax(below, low_end.low);
          above = std::fmax(above, c.interval(name, apart, compared.size()).high);
        }
      if (value < least.value) where = pair, least.value = value;
      low = std::min(low, below);
      if (is_known) high = std::min(high, above);
    }
    if (c.is_computed()) return {where, least};
    const auto known = [](double end) { return std::isinf(end) ? NAN : end; };
    const double level = 1 - 2 * c.significance();
    least = {name, least.value, known(low), known(high), level, "t, the test turned round"};
    return {where, c.on_logs() ? exponential(least) : least};
  }
};

}  // namespace headroom::experiments
