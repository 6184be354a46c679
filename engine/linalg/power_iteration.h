#pragma once
#include "engine/rng.h"
#include "engine/tensor.h"

namespace headroom::engine::linalg {

struct PowerOptions {
  double tolerance = 1e-10;  ///< on ‖aᵀ·u - sigma·v‖ / sigma
  int64_t most_iterations = 1000;
  RngKey start = {0, 0, 0};  ///< for the initial v: n normal values, the same for every matrix
};
/// The largest singular value and its vectors: sigma (…), u (…, m), v (…, n), with their residual.
struct PowerIteration {
  Tensor sigma, u, v;
  Tensor residual;    ///< (…) ‖aᵀ·u - sigma·v‖ / sigma at the end; shows if a matrix did not converge
  Tensor iterations;  ///< i64 (…)
};
/// Power iteration on aᵀ·a (Golub & Van Loan, "Matrix computations", 4th ed., §8.2): a (…, m, n). sigma is a lower
/// bound on the spectral norm. A zero matrix gives sigma 0, zero u and the initial v. Throws Error for a tolerance not
/// above 0, less than one iteration, an empty matrix, and non-finite elements.
PowerIteration power_iteration(const Tensor& a, const PowerOptions& options = {});

}  // namespace headroom::engine::linalg
