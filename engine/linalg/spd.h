#pragma once
#include "engine/tensor.h"

namespace headroom::engine::linalg {

/// The symmetric square root (…, n, n): r·r = a, for symmetric a (…, n, n) without negative eigenvalues; by eigh.
/// Throws Error if a is not symmetric, or naming an eigenvalue below -n·2⁻⁴⁸ (f32: -n·2⁻²⁰) of the largest.
Tensor sqrt_spd(const Tensor& a);

/// The symmetric inverse square root (…, n, n): r·a·r = I. Throws Error as sqrt_spd, and if an eigenvalue is not above
/// n·2⁻⁵² (f32: n·2⁻²³) of the largest: a is then not positive definite in its precision.
Tensor inverse_sqrt_spd(const Tensor& a);

}  // namespace headroom::engine::linalg
