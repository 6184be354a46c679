#pragma once
#include "autograd/var.h"
#include "engine/linalg/svd.h"

namespace headroom::autograd {

/// a = u · diag(s) · vt, k = min(m, n): u (…, m, k), s (…, k) descending, vt (…, k, n).
struct SvdVars {
  Var u, s, vt;
};
/// Differentiable thin SVD of a (…, m, n), f32 or f64. backward() through u or vt throws Error naming the values if two
/// singular values are equal, or one is zero and m ≠ n: those gradients do not exist there. The gradient of s always
/// does. Functions of u and vt should not depend on the arbitrary sign of a pair of vectors. engine/linalg/svd_grad.h
/// has the formula.
SvdVars svd(const Var& a, engine::linalg::SvdMethod method = engine::linalg::SvdMethod::accurate);

}  // namespace headroom::autograd
