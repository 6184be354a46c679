#pragma once
#include <cstdint>
#include <vector>

#include "tasks/theory/allocation.h"

namespace headroom::tasks {

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
