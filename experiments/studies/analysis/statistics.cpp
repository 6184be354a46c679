#include "experiments/studies/analysis/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>

#include "engine/error.h"
#include "tasks/no_throw.h"

namespace headroom::experiments {
namespace {

using Policy =
    boost::math::policies::normalise<tasks::NoThrow,
                                     boost::math::policies::promote_double<false>>::type;  // a third of the time
using StudentsT = boost::math::students_t_distribution<double, Policy>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Of a tail that may be below all doubles.
double log_tail(double t, double degrees) {
  return std::log(std::max(t_tail(t, degrees), std::numeric_limits<double>::denorm_min()));
}

}  // namespace

int common_exponent(const std::vector<double>& values) {
  double largest = 0;
  for (double v : values) {
    if (!std::isfinite(v)) return 0;
    largest = std::max(largest, std::abs(v));
  }
  return largest == 0 ? 0 : std::ilogb(largest);
}

std::vector<double> scaled(std::vector<double> values, int exponent) {
  for (double& v : values) v = std::scalbn(v, exponent);
  return values;
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return kNan;
  const int exponent = common_exponent(values);
  double sum = 0;
  for (double v : values) sum += std::scalbn(v, -exponent);
  return std::scalbn(sum / static_cast<double>(values.size()), exponent);
}

double median(std::vector<double> values) {
  if (values.empty()) return kNan;
  std::sort(values.begin(), values.end());
  return std::midpoint(values[(values.size() - 1) / 2], values[values.size() / 2]);
}

double standard_error(const std::vector<double>& values) {
  if (values.size() < 2) return kNan;
  const int exponent = common_exponent(values);
  const std::vector<double> near_one = scaled(values, -exponent);
  const double n = static_cast<double>(values.size()), m = mean(near_one);
  double squares = 0;
  for (double v : near_one) squares += (v - m) * (v - m);
  return std::scalbn(std::sqrt(squares / (n - 1) / n), exponent);
}

double geometric_mean(const std::vector<double>& values) {
  std::vector<double> logs;
  for (double v : values) logs.push_back(std::log(v));  // log 0 = −∞, whose exp is 0 again; log of a negative is NaN
  return std::exp(mean(logs));
}

double t_tail(double t, double degrees) {
  if (std::isnan(t) || !(degrees > 0)) return kNan;
  if (std::isinf(t)) return t > 0 ? 0 : 1;
  return boost::math::cdf(boost::math::complement(StudentsT(degrees), t));
}

double t_quantile(double tail, double degrees) {
  if (!(degrees > 0)) return kNan;
  return boost::math::quantile(boost::math::complement(StudentsT(degrees), tail));
}

double t_reach(double degrees, double significance) { return t_quantile(significance / 2, degrees); }

double line_slope(const std::vector<double>& x, const std::vector<double>& y) {
  require(x.size() == y.size(), "line_slope: {} x against {} y", x.size(), y.size());
  const int x_exponent = common_exponent(x), y_exponent = common_exponent(y);
  const std::vector<double> near_x = scaled(x, -x_exponent), near_y = scaled(y, -y_exponent);
  const double mean_x = mean(near_x), mean_y = mean(near_y);
  double xx = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (near_x[i] - mean_x) * (near_x[i] - mean_x);
    xy += (near_x[i] - mean_x) * (near_y[i] - mean_y);
  }
  return xx > 0 ? std::scalbn(xy / xx, y_exponent - x_exponent) : kNan;
}

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
