#pragma once
#include <vector>

#include "engine/linalg/dense.h"

namespace headroom::engine::linalg {

/// Columns of one block of one-sided Jacobi.
constexpr int64_t rotated_columns = 32;

/// The last step of one-sided Jacobi, once the columns of x (m, n) are nearly orthogonal, for all pairs at once: x·(I +
/// F), with F_pq = -F_qp the tangent of Jacobi's angle, is a rotation up to squares (after Ogita & Aishima, "Iterative
/// refinement for singular value decomposition based on matrix multiplication", 2020). Pairs orthogonal up to
/// `tolerance` have no angle.
class LastRotations {
 public:
  LastRotations(const View& x, double tolerance);

  /// True if no pair needs a rotation.
  bool is_empty() const { return total_ == 0; }
  /// True if the squares' error is below the tolerance.
  bool is_last() const { return 5 * total_ <= tolerance_; }
  /// True if the squares are small enough for a step to gain more digits than it costs.
  bool is_small() const { return total_ <= 1e-8; }

  /// The pairs of blocks with large rotations (blocks, blocks); each block's own are rotated with a neighbour's.
  Dense large_pairs() const;

  /// x = x·R and v = v·R with R = I + F or, if this is not the last step, I + F + F²/2, orthogonal up to F⁴. Call it
  /// once.
  void apply(const View& v);

 private:
  void make_column(int64_t q);
  void add_tiny(const View& x, const std::vector<double>& length) const;

  View x_;
  double tolerance_;
  Dense gram_;  ///< xᵀ·x on and above the diagonal, then F there, then R - I
  std::vector<double> length_;
  Dense size_;  ///< (blocks, blocks), on and above the diagonal: sums of squares of F, see make_column
  double total_ = 0;
};

}  // namespace headroom::engine::linalg
