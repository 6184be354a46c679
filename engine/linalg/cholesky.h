#pragma once
#include "engine/linalg/dense.h"

namespace headroom::engine::linalg {

/// The lower triangular l (…, n, n) with a = l·lᵀ, for symmetric positive definite a (…, n, n); checks symmetry, then
/// reads the lower half. Blocked; f32 or f64 (computed in f64). Throws Error if a is not symmetric to 1e-5 (f32) or
/// 1e-10 (f64) of its largest element, or not positive definite, naming the leading minor that fails and its pivot.
/// Golub & Van Loan, "Matrix computations", 4th ed., §4.2.
Tensor cholesky(const Tensor& a);

/// x with a·x = b for symmetric positive definite a (…, n, n), b (…, n, k). Errors as cholesky.
Tensor solve_spd(const Tensor& a, const Tensor& b);

/// Throws Error naming the op and the elements if matrix i differs from its transpose.
void check_symmetric(const char* op, const Stack& stack, int64_t i);

/// In place: the lower half of a becomes l, the rest zero. Returns -1, or the index of the first pivot not above
/// rounding noise, with its value in `pivot`.
int64_t factor_cholesky(const View& a, double* pivot);

}  // namespace headroom::engine::linalg
