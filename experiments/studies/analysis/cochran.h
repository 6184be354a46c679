#pragma once

namespace headroom::experiments {

/// An estimated variance of a mean that is the sum of two independent components, each a χ² on degrees of its own.
///
/// Cochran's critical value for it is the mean of both components' Student's t, weighed by their size,
///
///     t(α) = (A t_a(α) + D t_d(α)) / (A + D),
///
/// which lies between the two whatever the components are (Cochran, 1964, "Approximate significance levels of the
/// Behrens–Fisher test"; Cochran and Cox, 1957, "Experimental Designs", section 4.14).
struct VarianceSum {
  double a = 0, a_degrees = 0;  ///< degrees need not be whole
  double d = 0, d_degrees = 0;  ///< d = 0 leaves Student's t on a_degrees
  /// The critical value of `a` holds at any number of seeds (anytime.h); that of the sum is the larger of the two.
  bool is_anytime = false;

  /// t(tail): what the mean over its standard error exceeds with probability `tail`. NaN where a component above 0 has
  /// no degrees.
  double quantile(double tail) const;
  /// The tail that t is the quantile of; one below 1e-150 may be 0. NaN likewise, and where t is NaN.
  double tail(double t) const;
};

}  // namespace headroom::experiments
