#pragma once
#include "engine/linalg/svd.h"

namespace headroom::engine::linalg {

/// a = Q·B·Pᵀ for m ≥ n, B upper bidiagonal: d (n) on the diagonal, e (n - 1) above it. The reflectors of Q stay in `a`
/// as factor_qr leaves its own; those of P lie in `p` (n, n), of column j below its first subdiagonal.
struct Bidiagonal {
  std::vector<double> d, e, tau_q, tau_p;
  Dense p;
};
/// Blocked, with one pass over what is left of the matrix per column: Aᵀ·v and A·u are computed from the same columns
/// while the cache holds them (Howell, Demmel, Fulton, Hammarling & Marmol, "Cache efficient bidiagonalization using
/// BLAS 2.5 operators", 2008).
Bidiagonal bidiagonalise(const View& a);

/// B = u · diag(s) · vᵀ by divide and conquer (Gu & Eisenstat, "A divide-and-conquer algorithm for the bidiagonal SVD",
/// 1995), small parts by implicit QR iteration; s falls. Without `has_left` u has no rows, and v the same bits. Throws
/// Error when an iteration does not converge.
Factors bidiagonal_svd(std::vector<double> d, std::vector<double> e, bool has_left = true);

/// The leaves of the above, in place: B is (n, n + extra), extra 0 or 1, with d (n) and e (n - 1 + extra). u (n, n) and
/// v (n + extra, n + extra) are multiplied from the right by B's singular vectors; d becomes the values, in no order.
/// With extra = 1 the last column of v becomes the vector that B maps to zero.
void bidiagonal_qr(double* d, double* e, int64_t n, int extra, const View& u, const View& v);

/// B's singular values alone, falling: implicit QR iteration that turns no vectors. Errors as bidiagonal_svd.
std::vector<double> bidiagonal_values(std::vector<double> d, std::vector<double> e);

/// SvdMethod::fast for m ≥ n; `a` is overwritten.
Factors fast_svd(const View& a);
/// The same, of which only s or only s and v are wanted: the rest is not computed, or not rotated back.
std::vector<double> fast_values(const View& a);
Factors fast_right_vectors(const View& a);

}  // namespace headroom::engine::linalg
