#pragma once
#include "engine/tensor.h"

namespace headroom::engine::linalg {

/// The x (…, n, k) of least norm among those that minimise ‖a·x - b‖₂ column by column: a (…, m, n), b (…, m, k). By QR
/// with column pivoting and, if the rank r < n, a second QR (complete orthogonal decomposition; Golub & Van Loan,
/// "Matrix computations", 4th ed., §5.5). The rank counts |r_jj| above `relative_cut`·|r_00|; a negative cut means
/// max(m, n)·2⁻⁵² (f32: 2⁻²³). Throws Error for shapes that do not fit and non-finite elements.
Tensor least_squares(const Tensor& a, const Tensor& b, double relative_cut = -1);

/// The x ≥ 0 (…, n, k) that minimises ‖a·x - b‖₂ column by column. Lawson & Hanson, "Solving least squares problems"
/// (1974), ch. 23. Throws Error as least_squares, and if it needs more than 30·n changes of the active set.
Tensor nnls(const Tensor& a, const Tensor& b);

}  // namespace headroom::engine::linalg
