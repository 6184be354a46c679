#pragma once
#include "engine/rng.h"
#include "engine/tensor.h"

namespace headroom::engine::linalg {

struct PowerOptions {
  double tolerance = 1e-10;  ///< on ‖aᵀ·u - sigma·v‖ / sigma
  int64_t most_iterations = 1000;
  RngKey start = {0, 0, 0};  ///< of the first v: n normal values, the same for every matrix
};
/// The largest singular value and its vectors: sigma (…), u (…, m), v (…, n), and how well they fit.
struct PowerIteration {
  Tensor sigma, u, v;
  Tensor residual;  ///< (…) ‖aᵀ·u - sigma·v‖ / sigma at the end; a matrix that did not converge shows it here
  Tensor iterations;  ///< i64 (…)
};
/// Power iteration on aᵀ·a (Golub & Van Loan, "Matrix computations", 4th ed., §8.2): a (…, m, n). sigma is a lower
/// bound of the spectral norm. A zero matrix gives sigma 0, zero u and the start as v. Throws Error for a tolerance
/// that is not above 0, less than one iteration, an empty matrix, and what is not finite.
PowerIteration power_iteration(const Tensor& a, const PowerOptions& options = {});

}  // namespace headroom::engine::linalg
