#pragma once
#include "engine/linalg/svd.h"
#include "engine/rng.h"

namespace headroom::engine::linalg {

struct TruncatedOptions {
  int64_t oversampling = 10;     ///< columns of the sketch beyond the rank
  int64_t power_iterations = 2;  ///< passes of a·aᵀ, each with a QR
  /// For the sketch and the ten probes, the same for every matrix: n·(rank + oversampling + 10) normal values.
  RngKey key = {0, 0, 0};
};
/// a ≈ u · diag(s) · vt of a given rank, with its error.
struct TruncatedSVD {
  SVD svd;  ///< u (…, m, rank), s (…, rank), vt (…, rank, n)
  /// (…) ‖a - u·diag(s)·vt‖_F, exact up to rounding: the approximation is an orthogonal projection of a.
  Tensor frobenius_error;
  /// (…) An upper bound on ‖a - u·diag(s)·vt‖₂ that holds with probability 1 - 10⁻¹⁰ or more over the probes: the
  /// sketch's next value plus 10·√(2/π)·max_i ‖(I - Q·Qᵀ)·a·w_i‖ over ten normal probes w_i (Halko, Martinsson & Tropp,
  /// "Finding structure with randomness", 2011, eq. 4.3).
  Tensor spectral_error;
};
/// Randomized SVD by a sketch a·W with power iterations (Halko, Martinsson & Tropp, 2011, alg. 4.4 and 5.1); a (…, m,
/// n). Exact if the sketch would be as wide as the matrix. Throws Error for a rank outside [1, min(m, n)], negative
/// options, and as svd.
TruncatedSVD svd_truncated(const Tensor& a, int64_t rank, const TruncatedOptions& options = {});

}  // namespace headroom::engine::linalg
