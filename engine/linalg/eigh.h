#pragma once
#include <vector>

#include "engine/linalg/dense.h"

namespace headroom::engine::linalg {

/// a = vectors · diag(values) · vectorsᵀ: values (…, n) ascending, vectors (…, n, n) with one eigenvector per column.
struct Eigh {
  Tensor values, vectors;
};
/// Eigendecomposition of symmetric a (…, n, n), f32 or f64 (computed in f64): blocked Householder tridiagonalisation,
/// then implicit QL iteration (Golub & Van Loan, "Matrix computations", 4th ed., §8.3) up to 256 rows, and divide and
/// conquer (Cuppen, "A divide and conquer method for the symmetric tridiagonal eigenproblem", 1981) above, as in
/// bidiagonal_svd. Errors are of the size of the largest value's rounding. Throws Error if a is not symmetric to 1e-5
/// (f32) or 1e-10 (f64) of its largest element, or not finite.
Eigh eigh(const Tensor& a);

/// The same in place, for other factorisations: `a` becomes the eigenvectors of its symmetric part; values ascend.
std::vector<double> factor_eigh(const View& a);

}  // namespace headroom::engine::linalg
