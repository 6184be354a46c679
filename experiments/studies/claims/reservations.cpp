#include "experiments/studies/claims/reservations.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <vector>

#include "experiments/output/number.h"

namespace headroom::experiments {

std::vector<Curve> compared_curves(const Case& c) {
  const std::string& other = c.claim.keys.than.series;
  std::vector<Curve> curves{c.curve};
  if (!other.empty()) curves.push_back(curve_in_range(c.results, other, c.claim.metric, c.claim));
  return curves;
}

std::optional<std::string> unlearned(const Case& c) {
  const std::optional<double>& needed = c.claim.learned_at;
  if (c.claim.deterministic || !c.claim.kind->compares) return std::nullopt;
  double best = NAN;
  for (const Curve& one : compared_curves(c)) {
    const std::optional<double> unlearned = unlearned_best(one, needed);
    if (!unlearned) return std::nullopt;
    if (one.better(*unlearned, best)) best = *unlearned;
  }
  if (!needed)
    return fmt::format("nothing was learned here, as even the least error leaves {} of the target's variance",
                       rounded(best));
  return fmt::format("nothing was learned here, as even the best {} is {}, and learning takes {}", c.curve.metric,
                     rounded(best), exact(*needed));
}

std::optional<std::string> untuned(const Case& c) {
  if (c.claim.deterministic || !c.claim.kind->compares || !c.claim.single_rate.empty()) return std::nullopt;
  std::set<std::string> alone, at_edge;  // keys
  for (const Curve& one : compared_curves(c))
    for (const Point& p : one.points) {
      alone.insert(p.single.begin(), p.single.end());
      at_edge.insert(p.edges.begin(), p.edges.end());
    }
  if (!alone.empty())
    return fmt::format("only one value of {} was tried, and which is best may depend on {}", last_part(*alone.begin()),
                       c.axis);
  if (!at_edge.empty())
    return fmt::format("the best {} stands at an end of the values tried, and a better one may lie beyond",
                       last_part(*at_edge.begin()));
  return std::nullopt;
}

}  // namespace headroom::experiments
