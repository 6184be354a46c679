#include "experiments/studies/analysis/cochran.h"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>

#include "experiments/studies/analysis/anytime.h"
#include "experiments/studies/analysis/statistics.h"
#include "tasks/no_throw.h"

namespace headroom::experiments {
namespace {

/// Of a tail that may be below all doubles.
double log_tail(double t, double degrees) {
  return std::log(std::max(t_tail(t, degrees), std::numeric_limits<double>::denorm_min()));
}

}  // namespace

double VarianceSum::quantile(double tail) const {
  if (is_anytime)
    return std::max(anytime_quantile(tail, a_degrees + 1), d > 0 ? t_quantile(tail, d_degrees) : -INFINITY);
  if (d == 0) return t_quantile(tail, a_degrees);
  if (a == 0) return t_quantile(tail, d_degrees);
  return a / (a + d) * t_quantile(tail, a_degrees) + d / (a + d) * t_quantile(tail, d_degrees);
}

/// With x and y for the t of one tail on fewer and on more degrees, and v + w = 1 for what those components weigh,
/// vx + wy = t: what is sought is the x at which both tails are one. Fewer degrees have the longer tail, so that x is
/// in [t, t/v], and y in [0, t] can be had from it without loss. On logarithms, since v may be anything above 0.
double VarianceSum::tail(double t) const {
  if (is_anytime) return std::max(anytime_tail(t, a_degrees + 1), d > 0 ? t_tail(t, d_degrees) : 0);
  if (d == 0) return t_tail(t, a_degrees);
  if (a == 0) return t_tail(t, d_degrees);
  if (t < 0) return 1 - tail(-t);
  if (std::isnan(t) || !(a_degrees > 0) || !(d_degrees > 0)) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(t)) return 0;
  const bool a_has_fewer = a_degrees < d_degrees;
  const double v = (a_has_fewer ? a : d) / (a + d), w = (a_has_fewer ? d : a) / (a + d),
               fewer = std::min(a_degrees, d_degrees), more = std::max(a_degrees, d_degrees);
  const auto x = [&](double log_ratio) { return t * std::exp(log_ratio); };
  const auto excess = [&](double u) { return log_tail(x(u), fewer) - log_tail((t - v * x(u)) / w, more); };
  double low = 0, high = -std::log(v);
  const double at_low = excess(low), at_high = excess(high);
  if (!(at_low > 0)) return t_tail(t, fewer);  // the tails are alike, or below all doubles
  if (!(at_high < 0)) return t_tail(x(high), fewer);
  const auto is_near = [](double left, double right) { return right - left <= 4e-16 * std::max(1.0, right); };
  std::uintmax_t most_steps = 200;
  std::tie(low, high) =
      boost::math::tools::toms748_solve(excess, low, high, at_low, at_high, is_near, most_steps, tasks::NoThrow());
  return t_tail(x(std::midpoint(low, high)), fewer);
}

}  // namespace headroom::experiments
