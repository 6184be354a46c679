#pragma once
#include <cstdint>
#include <functional>
#include <vector>

namespace headroom::experiments {

/// Arithmetic mean; NaN when empty.
double mean(const std::vector<double>& values);

/// The middle value, or the mean of the two in the middle; NaN when empty.
double median(std::vector<double> values);

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

/// The least-squares line y = intercept + slope · x, with the confidence interval of its slope from the residuals
/// (Student's t on n − 2 degrees).
struct Line {
  int points = 0;
  double slope = 0, intercept = 0;
  double low = 0, high = 0;  ///< of the slope, at 1 − significance, two-sided; NaN for fewer than three points
};

/// Fits y against x. Everything is NaN for fewer than two different x. Throws Error when the lengths differ.
Line fit_line(const std::vector<double>& x, const std::vector<double>& y, double significance);

struct Interval {
  double low = 0, high = 0;
};

/// The percentile bootstrap (Efron, 1979) of `statistic`, at 1 − significance, two-sided: it is called with `items`
/// indices drawn with replacement, 10 000 times, from a Philox stream of a fixed seed, so that equal data give equal
/// bits. A NaN counts as +∞. NaN for no items.
Interval bootstrap(int64_t items, double significance,
                   const std::function<double(const std::vector<size_t>&)>& statistic);

}  // namespace headroom::experiments
