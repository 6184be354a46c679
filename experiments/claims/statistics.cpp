#include "experiments/claims/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>
#include <limits>

#include "engine/error.h"
#include "engine/rng.h"

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

PairedTest paired_test(const std::vector<double>& a, const std::vector<double>& b) {
  require(a.size() == b.size(), "paired_test: {} values against {}", a.size(), b.size());
  std::vector<double> difference;
  for (size_t i = 0; i < a.size(); ++i) difference.push_back(a[i] - b[i]);
  PairedTest test{static_cast<int>(a.size()), kNan, kNan};
  if (test.pairs < 2) return test;
  const double m = mean(difference), error = standard_error(difference);
  // All differences alike: the test's limit. No difference at all says nothing either way.
  if (error == 0) {
    test.t = m == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), m);
    test.p = m == 0 ? 0.5 : m > 0 ? 0 : 1;
    return test;
  }
  test.t = m / error;
  if (std::isnan(test.t)) return test;  // an infinite value
  test.p = boost::math::cdf(boost::math::complement(boost::math::students_t(test.pairs - 1), test.t));
  return test;
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
  const double t = boost::math::quantile(boost::math::complement(boost::math::students_t(degrees), significance / 2));
  const double half = t * std::sqrt(residual / degrees / xx);
  line.low = line.slope - half;
  line.high = line.slope + half;
  return line;
}

Interval bootstrap(int64_t items, double significance,
                   const std::function<double(const std::vector<size_t>&)>& statistic) {
  constexpr int64_t resamples = 10000;
  if (items < 1) return {kNan, kNan};
  engine::Rng rng(0);
  const engine::RngKey key = rng.take("bootstrap", resamples * items);
  std::vector<double> values(resamples);
  std::vector<size_t> indices(items);
  uint64_t element = 0;
  for (double& value : values) {
    // The high word of a product: uniform on [0, items) without the bias of a remainder.
    for (size_t& index : indices)
      index = static_cast<size_t>(uint64_t{engine::random_bits(key, element++)} * static_cast<uint64_t>(items) >> 32);
    value = statistic(indices);
    if (std::isnan(value)) value = std::numeric_limits<double>::infinity();
  }
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) { return values[static_cast<size_t>(std::lround(share * (resamples - 1)))]; };
  return {at(significance / 2), at(1 - significance / 2)};
}

}  // namespace headroom::experiments
