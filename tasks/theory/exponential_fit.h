#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom::tasks {

/// min over m of Σ_t |[t = lag] + Σ_k m_k rows_k(t)| + Σ_k slack_k |m_k|, and its dual max y_lag over |y_t| <= 1 with
/// |Σ_t y_t rows_k(t)| <= slack_k: a linear program (Clp) to a tolerance of 1e-10. Throws Error if Clp does not finish.
struct L1Dual {
  std::vector<double> y, multipliers;  ///< by t and by row
};
L1Dual l1_dual(const std::vector<std::vector<double>>& rows, const std::vector<double>& slack, size_t lag);

/// The best ℓ1 fit of δ_T by exponentials with given rates: a fit above, a proof below.
struct RateFit {
  double l1 = 1;        ///< Σ_t |[t = T] − f(t)| of the fit
  double least = 0;     ///< a lower bound for all amplitudes: the dual's value, minus its constraints' rounding
  int64_t horizon = 0;  ///< t is cut off here: every exponential's orthonormal part is below 1e-11 from there on
};

/// min over amplitudes of Σ_t |[t = lag] − Σ_k amplitude_k node_k^t| for fixed nodes in (0, 1), as a linear program
/// (Clp) over an orthonormal basis of their span: max y_T with |y_t| <= 1 and y orthogonal to the basis. The
/// exponentials themselves stop being a basis in doubles from about eight terms on. Accurate to about 1e-8. Throws
/// Error for nodes outside (0, 1), equal, or so near 1 that the horizon passes 20,000, and for lag < 1.
RateFit best_fit(const std::vector<double>& nodes, int64_t lag);

/// An orthonormal basis of the span of t → node_k^t over t = 0, 1, …: the impulse responses of a cascade of all-pass
/// filters with these poles (Malmquist 1925, Takenaka 1925), stable for any nodes. basis[k][t], t < horizon.
std::vector<std::vector<double>> orthonormal_exponentials(const std::vector<double>& nodes);

/// The best that any number of heads reaches in a number format: the least l1 + ε·gain (see ExponentialSum) over all
/// amplitudes on `rates` nodes, spread over (0, 0.98) as cos² of evenly spaced angles, by a linear program. Throws
/// Error unless lag and rates are >= 1 and epsilon is in (0, 1).
struct FloatLimit {
  double estimate = 1;  ///< l1 + ε·gain
  double least = 0;     ///< a lower bound for all amplitudes on these nodes
  double l1 = 1, gain = 0;
  int64_t terms = 0;  ///< nodes with a nonzero amplitude
};
FloatLimit float_limit(int64_t lag, double epsilon, int64_t rates = 240);

}  // namespace headroom::tasks
