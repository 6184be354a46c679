#pragma once
#include "autograd/var.h"
#include "engine/linalg/svd.h"

namespace headroom::autograd {

/// a = u · diag(s) · vt, k = min(m, n): u (…, m, k), s (…, k) falling, vt (…, k, n).
struct SvdVars {
  Var u, s, vt;
};
/// Differentiable thin SVD of a (…, m, n), f32 or f64. backward() through u or vt throws Error naming the values where
/// two singular values are equal, or one is zero and m ≠ n: there those gradients do not exist. That of s always does.
/// A function that is differentiated through u and vt should not depend on the sign of a pair of vectors, which is
/// arbitrary. engine/linalg/svd_grad.h has the formula.
SvdVars svd(const Var& a, engine::linalg::SvdMethod method = engine::linalg::SvdMethod::accurate);

}  // namespace headroom::autograd
