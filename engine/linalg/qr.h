#pragma once
#include "engine/tensor.h"

namespace headroom::engine::linalg {

/// a = q·r with k = min(m, n): q (…, m, k) with orthonormal columns, r (…, k, n) upper triangular.
struct QR {
  Tensor q, r;
};
/// Blocked Householder QR of a (…, m, n), f32 or f64 (computed in f64). Throws Error for non-finite elements. Golub &
/// Van Loan, "Matrix computations", 4th ed., §5.2.
QR qr(const Tensor& a);

/// a with its columns permuted = q·r: column j of q·r is column permutation[j] of a.
struct PivotedQR {
  Tensor q, r;         ///< as in QR; |r_jj| descends
  Tensor permutation;  ///< i64 (…, n)
};
/// Householder QR with column pivoting (Businger & Golub, 1965). Errors as qr.
PivotedQR qr_pivoted(const Tensor& a);

}  // namespace headroom::engine::linalg
