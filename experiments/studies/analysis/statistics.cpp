#include "experiments/studies/analysis/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/error.h"
#include "tasks/no_throw.h"

namespace headroom::experiments {
namespace {

using Policy =
    boost::math::policies::normalise<tasks::NoThrow,
                                     boost::math::policies::promote_double<false>>::type;  // a third of the time
using StudentsT = boost::math::students_t_distribution<double, Policy>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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

}  // namespace headroom::experiments
