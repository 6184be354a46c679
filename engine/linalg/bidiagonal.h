#pragma once
#include "engine/linalg/svd.h"

namespace headroom::engine::linalg {

/// a = Q·B·Pᵀ for m ≥ n, B upper bidiagonal: d (n) on the diagonal, e (n - 1) above it. Q's reflectors stay in `a` as
/// in factor_qr; P's are in `p` (n, n), column j below its first subdiagonal.
struct Bidiagonal {
  std::vector<double> d, e, tau_q, tau_p;
  Dense p;
};
/// Blocked, with one pass over the rest of the matrix per column: computes Aᵀ·v and A·u from the same columns while
/// they are in cache (Howell, Demmel, Fulton, Hammarling & Marmol, "Cache efficient bidiagonalization using BLAS 2.5
/// operators", 2008).
Bidiagonal bidiagonalise(const View& a);

/// B = u · diag(s) · vᵀ by divide and conquer (Gu & Eisenstat, "A divide-and-conquer algorithm for the bidiagonal SVD",
/// 1995), with implicit QR iteration for small parts; s descends. Without `has_left` u has no rows and v the same bits.
/// Throws Error if an iteration does not converge.
Factors bidiagonal_svd(std::vector<double> d, std::vector<double> e, bool has_left = true);

/// The base case of the above, in place: B is (n, n + extra), extra 0 or 1, with d (n) and e (n - 1 + extra).
/// Multiplies u (n, n) and v (n + extra, n + extra) from the right by B's singular vectors; d becomes the values,
/// unordered. With extra = 1 the last column of v becomes the vector that B maps to zero.
void bidiagonal_qr(double* d, double* e, int64_t n, int extra, const View& u, const View& v);

/// B's singular values only, descending: implicit QR iteration without vectors. Errors as bidiagonal_svd.
std::vector<double> bidiagonal_values(std::vector<double> d, std::vector<double> e);

/// SvdMethod::fast for m ≥ n; overwrites `a`.
Factors fast_svd(const View& a);
/// The same for only s, or only s and v: the rest is not computed, or not rotated back.
std::vector<double> fast_values(const View& a);
Factors fast_right_vectors(const View& a);

}  // namespace headroom::engine::linalg
