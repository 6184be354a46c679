#include "experiments/studies/analysis/guideline.h"

#include <algorithm>
#include <cmath>

namespace headroom::experiments {

std::optional<UpwardSearch> search_upward(const Curve& curve, double percent) {
  const Point* best = curve.best();
  if (curve.points.size() < 3 || std::isnan(curve.mean(curve.points.front()))) return std::nullopt;
  for (const Point& p : curve.points)
    if (curve.mean(p) <= 0) return std::nullopt;
  const bool validated = is_validated(curve.all_points());
  const auto seen = [&](const Point& p) { return curve.chosen_by(p, validated); };
  UpwardSearch search;
  const Point* found = &curve.points.front();
  search.tried.push_back(found->x);
  for (size_t i = 1; i < curve.points.size(); ++i) {
    search.tried.push_back(curve.points[i].x);
    if (!curve.better(seen(curve.points[i]), seen(*found))) break;
    found = &curve.points[i];
  }
  search.found_x = found->x;
  search.best_x = best->x;
  search.times_worse =
      curve.larger_is_better ? curve.mean(*best) / curve.mean(*found) : curve.mean(*found) / curve.mean(*best);
  search.reached = search.times_worse <= 1 + percent / 100;
  return search;
}

}  // namespace headroom::experiments
