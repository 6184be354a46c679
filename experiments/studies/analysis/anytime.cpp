#include "experiments/studies/analysis/anytime.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/studies/analysis/statistics.h"

namespace headroom::experiments {

double anytime_tail(double t, double n) {
  if (std::isnan(t)) return t;
  if (n < 2) return 1;
  const double g = anytime_g, nu = n - 1, shrunk = g / (n + g);
  // With u = t², both logarithms grow like log u; their difference tends to −log(shrunk).
  const double u = t * t;
  const double logs = std::isinf(u) ? -std::log(shrunk) : std::log1p(u / nu) - std::log1p(shrunk * u / nu);
  const double of_prior = std::isinf(u) ? std::copysign(n / std::sqrt(g), t) : n * t / std::sqrt((n + g) * nu + g * u);
  const double log_e = std::log(2 * t_tail(-of_prior, n)) + (std::log(shrunk) + n * logs) / 2;
  return std::min(1.0, std::exp(-log_e));
}

double anytime_quantile(double tail, double n) {
  if (std::isnan(tail) || std::isnan(n)) return std::numeric_limits<double>::quiet_NaN();
  if (tail >= 1) return -std::numeric_limits<double>::infinity();
  if (!(anytime_tail(std::numeric_limits<double>::infinity(), n) < tail))
    return std::numeric_limits<double>::infinity();
  double low = 0, high = 1;
  while (anytime_tail(high, n) > tail) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (anytime_tail(middle, n) > tail ? low : high) = middle;
  }
  return high;
}

}  // namespace headroom::experiments
