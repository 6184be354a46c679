#include "experiments/studies/claims/kinds/curved.h"

#include <fmt/format.h>

#include <cmath>

#include "experiments/output/number.h"
#include "experiments/studies/claims/case.h"
#include "experiments/studies/claims/claim_scope.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

/// The mean at a point − `times` × the line through the ends.
Estimate above_line(const Case& c, const Point& p, double times) {
  const Point &first = c.curve.points.front(), &last = c.curve.points.back();
  const double share = (p.x - first.x) / (last.x - first.x);
  return c.combine({{&p, 1}, {&first, -times * (1 - share)}, {&last, -times * share}});
}

}  // namespace

void Curved::read(Reader& in, const ClaimScope& scope) {
  percent =
      in.real("percent", percent, at_least(0), "how far from the target at most, or from a straight line at least");
  scope.check_count(in, 3, "a bend");
}

std::optional<MissingKey> Curved::missing(const ClaimConfig&) const {
  if (!(percent > 0)) return MissingKey{"percent", "how far from the line at least, above 0"};
  return std::nullopt;
}

std::string Curved::details() const { return fmt::format(" ≥ {} %", exact(percent)); }

Hypothesis Curved::hypothesis(const Case& c) const {
  std::vector<Hypothesis> off;
  for (const Point* p : c.points({c.curve.points.front().x, c.curve.points.back().x})) {
    off.push_back(Hypothesis::at_least(above_line(c, *p, 1 + percent / 100), 0));
    off.push_back(Hypothesis::at_most(above_line(c, *p, 1 - percent / 100), 0));
  }
  return Hypothesis::any_of(std::move(off));
}

std::optional<Hypothesis> Curved::judge(const Case& c, Verdict& verdict) const {
  const auto& points = c.curve.points;
  if (points.size() < 3) {
    not_run(verdict, fmt::format("a bend needs 3 values of {}", c.axis));
    return std::nullopt;
  }
  const auto off = [&](const Point& p) {
    const double distance = above_line(c, p, 1).value;
    return distance == 0 ? 0 : 100 * distance / (p.mean - distance);
  };
  const Point* worst = nullptr;
  for (size_t i = 1; i + 1 < points.size(); ++i) {
    if (std::isnan(above_line(c, points[i], 1).value)) continue;  // no seed in common with the ends
    if (!worst || std::abs(off(points[i])) > std::abs(off(*worst))) worst = &points[i];
  }
  if (!worst) {
    not_run(verdict, fmt::format("no seed finished at {}, at {} and between them", c.at(points.front()),
                                 exact(points.back().x)));
    return std::nullopt;
  }
  Hypothesis says = hypothesis(c);
  const ConfidenceInterval distance = c.interval("difference", above_line(c, *worst, 1), points.size() - 2);
  verdict.numbers = {{"percent", off(*worst)}, {"worst_x", worst->x}, {"seeds", says.seeds().value_or(1)}};
  verdict.intervals = {distance};
  verdict.measured = off(*worst);
  verdict.summary = signed_percent(off(*worst));
  verdict.found =
      fmt::format("at {}, where it is farthest from the straight line from {} to {}, it is {} off that line",
                  c.at(*worst), c.at(points.front()), exact(points.back().x), verdict.summary);
  verdict.claimed = fmt::format("at least {} %", exact(percent));
  return says;
}

}  // namespace headroom::experiments
