#pragma once
#include "engine/linalg/dense.h"

namespace headroom::engine::linalg {

enum class Triangle { lower, upper };
struct TriangularOptions {
  Triangle triangle = Triangle::lower;  ///< the half of `a` to read
  bool transpose = false;               ///< solve aᵀ·x = b
  bool unit_diagonal = false;           ///< the diagonal is one and not read
};
/// x with a·x = b: a (…, n, n), b (…, n, k) → (…, n, k). Throws Error naming a zero on the diagonal, for shapes that do
/// not fit, and for non-finite elements.
Tensor solve_triangular(const Tensor& a, const Tensor& b, const TriangularOptions& options = {});

/// The same in place, for factorisations: a's diagonal must hold no zero.
void solve_triangular_inplace(const View& a, const View& b, const TriangularOptions& options);

}  // namespace headroom::engine::linalg
