#pragma once
#include "engine/linalg/svd.h"

namespace headroom::engine::linalg {

/// dL/da (…, m, n) from dL/du (…, m, k), dL/ds (…, k) and dL/dvt (…, k, n), any of which may be undefined (zero):
///   da = (U·(F ∘ (Uᵀdu - duᵀU))·S + (I - U·Uᵀ)·du·S⁻¹)·Vᵀ + U·diag(ds)·Vᵀ + U·(S·(F ∘ (Vᵀdv - dvᵀV))·Vᵀ + S⁻¹·dvᵀ·(I -
///   V·Vᵀ)), F_ij = 1/(s_j² - s_i²)
/// (Townsend, "Differentiating the singular value decomposition", 2016). The gradient of s always exists (at zero it is
/// one-sided). The vectors' gradient exists only if the values are distinct and, for m ≠ n, above zero: otherwise
/// throws Error naming the matrix and the values.
Tensor svd_grad(const SVD& svd, const Tensor& du, const Tensor& ds, const Tensor& dvt);

}  // namespace headroom::engine::linalg
