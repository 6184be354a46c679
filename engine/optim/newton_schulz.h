#pragma once
#include "engine/tensor.h"

namespace headroom::engine::linalg {

/// Nearly the orthogonal factor U Vᵀ of x = U S Vᵀ, by products alone: x (M, N), f32 or f64, divided by its Frobenius
/// norm, then `iterations` times X ← aX + b(XXᵀ)X + c(XXᵀ)²X with the quintic's coefficients of Jordan et al. (Muon,
/// 2024). They raise small singular values fast and bring them near 1, not to it: those above 0.005 of the Frobenius
/// norm lie between 0.68 and 1.16 after five. A matrix of zeros stays one. The Gram matrix is of the shorter side.
/// Throws Error unless x is a matrix and iterations >= 1.
Tensor newton_schulz(const Tensor& x, int64_t iterations = 5);

}  // namespace headroom::engine::linalg
