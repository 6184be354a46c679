#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// At some x between the ends the mean is at least `percent` % above or below the straight line, over a linear axis,
/// from the first to the last: any of them will do. Its opposite is a cost that is affine in x.
struct Curved : ClaimKind {
  Curved()
      : ClaimKind({.name = "curved", .numbers = {"percent", "worst_x", "seeds"}, .least_points = 3, .what = "a bend"}) {
  }

  void read(ClaimKeys& keys, Reader& in, const ClaimScope&) const override { keys.percent = read_percent(in); }

  std::optional<MissingKey> missing(const ClaimConfig& claim) const override {
    return unless(claim.keys.percent > 0, "percent", "how far from the line at least, above 0");
  }

  std::string details(const ClaimKeys& keys) const override { return fmt::format(" ≥ {} %", exact(keys.percent)); }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    const double share = c.claim.keys.percent / 100;
    std::vector<Hypothesis> off;
    for (const Point* p : c.points({c.curve.points.front().x, c.curve.points.back().x})) {
      off.push_back(Hypothesis::at_least(above_line(c, *p, 1 + share), 0));
      off.push_back(Hypothesis::at_most(above_line(c, *p, 1 - share), 0));
    }
    return Hypothesis::any_of(std::move(off));
  }

  std::string measure(const Case& c, Verdict& verdict) const override {
    const Point &first = c.curve.points.front(), &last = c.curve.points.back();
    const std::vector<const Point*> between = c.points({first.x, last.x});
    const Point* worst = nullptr;
    double off = 0;  // of the worst, in percent
    for (const Point* p : between) {
      const double distance = above_line(c, *p, 1).value;
      if (std::isnan(distance)) continue;  // no seed in common with the ends
      const double percent = distance == 0 ? 0 : 100 * distance / (p->mean - distance);
      if (worst && !(std::abs(percent) > std::abs(off))) continue;
      worst = p;
      off = percent;
    }
    if (!worst) return fmt::format("no seed finished at {}, at {} and between them", c.at(first), exact(last.x));
    verdict.numbers = {{"percent", off}, {"worst_x", worst->x}};
    verdict.intervals = {c.interval("difference", above_line(c, *worst, 1), between.size())};
    verdict.measured = off;
    const bool is_straight = std::abs(off) < 0.005;  // shown as 0.00 %
    verdict.summary = is_straight ? "straight" : signed_percent(off);
    verdict.found = is_straight
                        ? fmt::format("from {} to {} all values lie on a straight line", c.at(first), exact(last.x))
                        : fmt::format("at {} it is farthest from the straight line between {} and {}: {}", c.at(*worst),
                                      exact(first.x), exact(last.x), verdict.summary);
    verdict.claimed = fmt::format("at least {} % off", exact(c.claim.keys.percent));
    verdict.brief = {
        is_straight ? "a straight line" : fmt::format("{} {} off the line", c.label(*worst), verdict.summary),
        fmt::format("needs ≥ {} %", exact(c.claim.keys.percent))};
    return "";
  }

 private:
  /// The mean at a point − `times` × the line through the ends.
  static Estimate above_line(const Case& c, const Point& p, double times) {
    const Point &first = c.curve.points.front(), &last = c.curve.points.back();
    const double share = (p.x - first.x) / (last.x - first.x);
    return c.combine({{&p, 1}, {&first, -times * (1 - share)}, {&last, -times * share}});
  }
};

}  // namespace headroom::experiments
