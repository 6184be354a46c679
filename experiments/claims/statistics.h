#pragma once
#include <vector>

namespace headroom::experiments {

/// Arithmetic mean; NaN when empty.
double mean(const std::vector<double>& values);

/// Standard error of the mean, s / √n with s over n − 1; NaN for fewer than two values.
double standard_error(const std::vector<double>& values);

/// exp(mean(log v)); 0 when a value is 0; NaN when empty or when a value is negative.
double geometric_mean(const std::vector<double>& values);

/// Paired one-sided t-test of "a is larger than b" (Student, 1908): t = mean(a − b) / SE(a − b) on n − 1 degrees.
struct PairedTest {
  int pairs = 0;
  double t = 0;  ///< ±∞ when every difference is the same and not 0
  double p = 1;  ///< P(T ≥ t) if the means were equal; NaN for fewer than two pairs
};

/// Tests a[i] against b[i]. Throws Error when the lengths differ.
PairedTest paired_test(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace headroom::experiments
