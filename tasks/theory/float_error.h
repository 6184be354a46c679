#pragma once
#include <cstdint>
#include <vector>

#include "tasks/theory/allocation.h"

namespace headroom::tasks {

/// f(t) = Σ_k amplitudes_k nodes_k^t, one term per head, to match [t = lag] with unit roundoff ε. Node 0 is a head that
/// sees only its own token: the limit of fast rates.
struct HeadFit {
  std::vector<double> nodes, amplitudes;
  double l1 = 1;        ///< Σ_t |[t = lag] − f(t)|, plus a bound for t beyond the last one summed
  double gain = 0;      ///< Σ_k |amplitude_k| / (1 − node_k), the size of the value weights
  double estimate = 1;  ///< l1 + ε·gain; 1, with all amplitudes 0, if nothing beats fetching nothing
};

/// The largest node of a fit: rates of at least 0.1. Slower ones gain less than 1 %.
inline constexpr double largest_fit_node = 0.9;

/// The best amplitudes for given nodes in [0, largest_fit_node], by a linear program (see l1_dual()). Throws Error
/// unless lag >= 1 and ε is in [2^-30, 1): smaller ones are below the program's tolerance.
HeadFit head_fit_on(const std::vector<double>& nodes, int64_t lag, double epsilon);

/// The numerically best fits by 1, 2, …, `most` heads. Exchanges nodes (Remez) until they are the extremes of the dual
/// polynomial, where the objective is stationary in them. Starts from those of the Chebyshev polynomial that is ε on
/// [0, c] and 1 at 1, which are stationary as long as no |y_t| of the dual passes 1. It is not proved that no other
/// nodes do better.
class HeadFitter {
 public:
  /// Throws Error unless ε is in [2^-30, 1) and most >= 1.
  HeadFitter(int64_t most, double epsilon);

  /// A lag's fits, by number of heads from 1 on; each no worse than the one before and than best_float_fit() with its
  /// Chebyshev nodes. With m <= lag heads the best is exactly 1 (a theorem, see certificate()). Throws Error if lag
  /// < 1.
  std::vector<HeadFit> fits(int64_t lag) const;
  /// A lower bound for any number of heads with nodes up to largest_fit_node: y_lag of a dual y with |Σ_t y_t x^t| <=
  /// ε/(1 − x), checked on a fine grid of x with its maxima polished. Tight to about 1 % if fits() finds any.
  double least(int64_t lag) const;

 private:
  double epsilon_;
  std::vector<std::vector<double>> nodes_;  ///< by number of heads: they hardly depend on the lag; fixed at lag 1
};

/// Unit roundoffs of the formats used in forward passes.
inline constexpr double f32_roundoff = 0x1p-24, bf16_roundoff = 0x1p-8;

/// Replaces 1.3 e^{0.02m}/H for numbers with unit roundoff ε: l1 + ε·gain of the numerically best coefficients
/// (HeadFitter). Exactly 1 for H <= lag (the law that replaces Lemma E.1: a theorem); above it a worst-case guess of
/// rounding, ε times the size of the value weights. Computes lags up to the first that no heads can fetch; no farther
/// lag can be fetched (shift a fit by one step).
class FloatErrors {
 public:
  /// Throws Error unless ε is in [2^-30, 1).
  FloatErrors(int64_t lags, double epsilon);
  double estimate(int64_t lag, int64_t heads) const;
  /// A lower bound for any number of heads, under the same guess; see HeadFitter::least().
  double least(int64_t lag) const;
  /// The last lag that some number of heads can fetch; 0 for none.
  int64_t reach() const { return static_cast<int64_t>(estimates_.size()); }

 private:
  std::vector<std::vector<double>> estimates_;  ///< by lag and number of heads
  std::vector<double> least_;                   ///< by lag; the last one applies to all farther lags
};

/// projection_error + estimate.
GroupError float_error(const LagRanks& ranks, const FloatErrors& errors);

}  // namespace headroom::tasks
