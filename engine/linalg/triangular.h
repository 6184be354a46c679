#pragma once
#include "engine/linalg/dense.h"

namespace headroom::engine::linalg {

enum class Triangle { lower, upper };
struct TriangularOptions {
  Triangle triangle = Triangle::lower;  ///< the half of `a` that is read
  bool transpose = false;               ///< solve aᵀ·x = b
  bool unit_diagonal = false;           ///< the diagonal is one and not read
};
/// x with a·x = b: a (…, n, n), b (…, n, k) → (…, n, k). Throws Error where the diagonal holds a zero, which it names,
/// for shapes that do not fit, and for what is not finite.
Tensor solve_triangular(const Tensor& a, const Tensor& b, const TriangularOptions& options = {});

/// The same in place, for factorisations: a's diagonal must hold no zero.
void solve_triangular_inplace(const View& a, const View& b, const TriangularOptions& options);

}  // namespace headroom::engine::linalg
