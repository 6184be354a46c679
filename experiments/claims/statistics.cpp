#include "experiments/claims/statistics.h"

#include <boost/math/distributions/students_t.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>
#include <limits>

#include "engine/error.h"

namespace headroom::experiments {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (double v : values) sum += v;
  return values.empty() ? kNan : sum / static_cast<double>(values.size());
}

double median(std::vector<double> values) { return values.empty() ? kNan : boost::math::statistics::median(values); }

double standard_error(const std::vector<double>& values) {
  if (values.size() < 2) return kNan;
  const double n = static_cast<double>(values.size()), m = mean(values);
  double squares = 0;
  for (double v : values) squares += (v - m) * (v - m);
  return std::sqrt(squares / (n - 1) / n);
}

double geometric_mean(const std::vector<double>& values) {
  std::vector<double> logs;
  for (double v : values) logs.push_back(std::log(v));  // log 0 = −∞, whose exp is 0 again; log of a negative is NaN
  return std::exp(mean(logs));
}

double t_reach(double degrees, double significance) {
  return boost::math::quantile(boost::math::complement(boost::math::students_t(degrees), significance / 2));
}

Line fit_line(const std::vector<double>& x, const std::vector<double>& y, double significance) {
  require(x.size() == y.size(), "fit_line: {} x against {} y", x.size(), y.size());
  Line line{static_cast<int>(x.size()), kNan, kNan, kNan, kNan};
  const double mean_x = mean(x), mean_y = mean(y);
  double xx = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  if (!(xx > 0)) return line;
  line.slope = xy / xx;
  line.intercept = mean_y - line.slope * mean_x;
  if (line.points < 3) return line;
  double residual = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = y[i] - line.intercept - line.slope * x[i];
    residual += error * error;
  }
  const int degrees = line.points - 2;
  const double half = t_reach(degrees, significance) * std::sqrt(residual / degrees / xx);
  line.low = line.slope - half;
  line.high = line.slope + half;
  return line;
}

}  // namespace headroom::experiments
