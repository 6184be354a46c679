#include "experiments/studies/claims/optimum.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "experiments/studies/claims/estimate.h"

namespace headroom::experiments {
namespace {

/// ln x of the vertex of the parabola through three points whose middle one is the lowest; a tie gives the middle.
double vertex(const double (&x)[3], const double (&y)[3]) {
  const double left = (y[1] - y[0]) / (x[1] - x[0]), right = (y[2] - y[1]) / (x[2] - x[1]);
  const double curvature = (right - left) / (x[2] - x[0]);
  if (!(curvature > 0)) return x[1];
  return std::clamp((x[0] + x[1]) / 2 - left / (2 * curvature), x[0], x[2]);
}

/// ln x at which one seed is best; the end where its best x is one.
double best_of_seed(const std::vector<double>& x, const std::vector<double>& loss) {
  const auto best = static_cast<size_t>(std::min_element(loss.begin(), loss.end()) - loss.begin());
  if (best == 0 || best + 1 == x.size()) return x[best];
  return vertex({x[best - 1], x[best], x[best + 1]}, {loss[best - 1], loss[best], loss[best + 1]});
}

}  // namespace

std::optional<Optimum> optimum(const Curve& curve) {
  if (curve.points.size() < 3) return std::nullopt;
  std::vector<double> x;
  for (const Point& p : curve.points) {
    if (!(p.x > 0)) return std::nullopt;
    x.push_back(std::log(p.x));
  }
  Sample sample;
  std::vector<double> sums(x.size());  // of the loss over seeds
  for (const auto& entry : curve.points.front().values) {
    std::vector<double> loss;
    for (const Point& p : curve.points) {
      const auto found = p.values.find(entry.first);
      if (found == p.values.end()) break;
      if (!(found->second > 0)) return std::nullopt;
      loss.push_back(curve.larger_is_better ? -found->second : std::log(found->second));
    }
    if (loss.size() != x.size()) continue;
    sample.seeds.push_back(best_of_seed(x, loss));
    for (size_t i = 0; i < x.size(); ++i) sums[i] += loss[i];
  }
  if (sample.seeds.size() < 2) return std::nullopt;
  const Estimate estimate = experiments::estimate(sample);
  const auto best = std::min_element(sums.begin(), sums.end()) - sums.begin();
  const auto [low, high] = estimate.interval(0.9);
  return Optimum{estimate.value, estimate.error() * estimate.error(),   estimate.seeds, std::exp(low),
                 std::exp(high), best == 0 || best + 1 == std::ssize(x)};
}

}  // namespace headroom::experiments
