#include "experiments/claims/statistics.h"

#include <boost/math/distributions/students_t.hpp>
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

}  // namespace headroom::experiments
