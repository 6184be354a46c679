#pragma once
#include <vector>

namespace headroom::experiments {

/// The binary exponent of the largest of the values' sizes; 0 where that is 0 or not finite. Numbers are scaled by its
/// power of two before they are added or squared, which leaves every digit as it is and makes what is computed of them
/// right up to the largest double and down to the smallest.
int common_exponent(const std::vector<double>& values);

/// The values times 2^exponent.
std::vector<double> scaled(std::vector<double> values, int exponent);

/// Arithmetic mean; NaN when empty.
double mean(const std::vector<double>& values);

/// The middle value, or the mean of the two in the middle; NaN when empty.
double median(std::vector<double> values);

/// Standard error of the mean, s / √n with s over n − 1; NaN for fewer than two values.
double standard_error(const std::vector<double>& values);

/// exp(mean(log v)); 0 when a value is 0; NaN when empty or when a value is negative.
double geometric_mean(const std::vector<double>& values);

/// P(T ≥ t) of Student's t on `degrees` degrees of freedom, which need not be whole. NaN where t is, or where they are
/// not above 0.
double t_tail(double t, double degrees);

/// The t with P(T ≥ t) = `tail`: infinite for 0, NaN as t_tail() is.
double t_quantile(double tail, double degrees);

/// Standard errors on each side of an estimate that its interval at 1 − significance takes: Student's t.
double t_reach(double degrees, double significance);

/// The slope of the least-squares line y = a + slope · x; NaN for fewer than two different x. Throws Error when the
/// lengths differ.
double line_slope(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace headroom::experiments
