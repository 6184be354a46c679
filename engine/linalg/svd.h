#pragma once
#include "engine/tensor.h"

namespace headroom::engine::linalg {

/// `accurate`: one-sided Jacobi after two QR factorisations, the first with pivoting (Drmač & Veselić, "New fast and
/// accurate Jacobi SVD algorithm", 2008). Small singular values of B·D or D·B, B well conditioned and D diagonal, keep
/// their relative accuracy; those below 1e-100 of the largest are zero. `fast`: bidiagonalisation and divide and
/// conquer; errors are of the size of the largest singular value's rounding.
enum class SvdMethod { accurate, fast };

/// a = u · diag(s) · vt with k = min(m, n): u (…, m, k), s (…, k) falling and ≥ 0, vt (…, k, n); u and vtᵀ have
/// orthonormal columns, also where singular values are zero.
struct SVD {
  Tensor u, s, vt;
};
/// Thin SVD of a (…, m, n), f32 or f64 (computed in f64), of many matrices in parallel. Throws Error for a tensor that
/// is not floating, has fewer than two axes, or holds what is not finite.
SVD svd(const Tensor& a, SvdMethod method = SvdMethod::accurate);
/// s (…, k) alone.
Tensor singular_values(const Tensor& a, SvdMethod method = SvdMethod::accurate);

}  // namespace headroom::engine::linalg
