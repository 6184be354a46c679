#include "experiments/studies/analysis/guideline.h"

#include <cmath>

namespace headroom::experiments {

std::optional<double> search_upward(const Curve& curve) {
  if (curve.points.size() < 3 || std::isnan(curve.mean(curve.points.front()))) return std::nullopt;
  for (const Point& p : curve.points)
    if (curve.mean(p) <= 0) return std::nullopt;
  const bool validated = is_validated(curve.all_points());
  const auto seen = [&](const Point& p) { return curve.chosen_by(p, validated); };
  const Point* found = &curve.points.front();
  for (const Point& next : curve.points) {
    if (&next == found) continue;
    if (!curve.better(seen(next), seen(*found))) break;
    found = &next;
  }
  return found->x;
}

}  // namespace headroom::experiments
