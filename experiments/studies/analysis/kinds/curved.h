#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// At some x between the ends the mean is at least `percent` % above or below the straight line, over a linear axis,
/// from the first to the last: any of them will do. Its opposite is a cost that is affine in x.
struct Curved : ClaimKind {
  Curved()
      : ClaimKind({.name = "curved",
                   .form = Form::line,
                   .numbers = {"percent", "worst_x", "seeds"},
                   .required = {{"percent", "how far from the line at least, above 0"}},
                   .least_points = 3,
                   .what = "a bend"}) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope&) const override { keys.percent = read_percent(in); }

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

  Finding measure(const Case& c) const override {
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
    if (!worst) fail("no seed finished at {}, at {} and between them", c.at(first), exact(last.x));
    ConfidenceInterval distance = c.interval("difference", above_line(c, *worst, 1), between.size());
    distance.of = c.place(*worst);
    return {
        .measured = off, .values = {off, worst->x}, .intervals = {distance}, .points = {c.place(first), c.place(last)}};
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
