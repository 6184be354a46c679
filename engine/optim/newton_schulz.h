#pragma once
#include "engine/tensor.h"

namespace headroom::engine::linalg {

/// Approximates the orthogonal factor U Vᵀ of x = U S Vᵀ by products alone: divides x (M, N), f32 or f64, by its
/// Frobenius norm, then applies X ← aX + b(XXᵀ)X + c(XXᵀ)²X `iterations` times with the quintic's coefficients of
/// Jordan et al. (Muon, 2024). They raise small singular values fast and bring them near 1, not to it: those above
/// 0.005 of the Frobenius norm are between 0.68 and 1.16 after five. Zeros stay zeros. Uses the shorter side's Gram
/// matrix. Throws Error unless x is a matrix and iterations >= 1.
Tensor newton_schulz(const Tensor& x, int64_t iterations = 5);

}  // namespace headroom::engine::linalg
