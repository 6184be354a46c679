#pragma once
#include "engine/linalg/dense.h"

namespace headroom::engine::linalg {

/// `accurate`: one-sided Jacobi after two QR factorisations, the first with pivoting (Drmač & Veselić, "New fast and
/// accurate Jacobi SVD algorithm", 2008), started from the fast one's vectors if grading allows. In large matrices one
/// matrix product replaces the last sweeps (last_rotations.h), and columns of similar length need no QR either. Small
/// singular values of B·D or D·B, B well conditioned and D diagonal, keep their relative accuracy; those below 1e-100
/// of the largest are zero. `fast`: bidiagonalisation and divide and conquer; errors are of the size of the largest
/// singular value's rounding.
enum class SvdMethod { accurate, fast };

/// a = u · diag(s) · vt with k = min(m, n): u (…, m, k), s (…, k) descending and ≥ 0, vt (…, k, n); u and vtᵀ have
/// orthonormal columns, even for zero singular values.
struct SVD {
  Tensor u, s, vt;
};
/// Thin SVD of a (…, m, n), f32 or f64 (computed in f64), in parallel over matrices. Throws Error for a tensor that is
/// not floating, has fewer than two axes, or is not finite.
SVD svd(const Tensor& a, SvdMethod method = SvdMethod::accurate);
/// s (…, k) only, without the vectors' work.
Tensor singular_values(const Tensor& a, SvdMethod method = SvdMethod::accurate);

/// The SVD of a·bᵀ, a (…, m, r), b (…, n, r), k = min(m, n, r): by a QR of each and the SVD of the small core R_a·R_bᵀ,
/// without forming the (m, n) product. Throws Error as svd, and for shapes that do not fit.
SVD svd_of_product(const Tensor& a, const Tensor& b, SvdMethod method = SvdMethod::accurate);
/// Its s (…, k) only.
Tensor singular_values_of_product(const Tensor& a, const Tensor& b, SvdMethod method = SvdMethod::accurate);

/// The Moore–Penrose inverse (…, n, m) of a (…, m, n). Singular values up to relative_cut·s₀ count as zero; a negative
/// cut means max(m, n)·2⁻⁵² (f32: 2⁻²³). Errors as svd.
Tensor pinv(const Tensor& a, double relative_cut = -1);

/// One matrix: a = u · diag(s) · vᵀ, s descending, k = min(m, n) columns each.
struct Factors {
  Dense u;
  std::vector<double> s;
  Dense v;
};
/// The same for one matrix, which it overwrites.
Factors factor_svd(const View& a, SvdMethod method);
/// Its s only.
std::vector<double> factor_values(const View& a, SvdMethod method);

}  // namespace headroom::engine::linalg
