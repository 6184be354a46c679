#pragma once
#include <vector>

#include "engine/linalg/dense.h"

namespace headroom::engine::linalg {

/// a = u · diag(s) · vᵀ of one matrix; s falls.
struct Factors {
  Dense u;                ///< (m, k)
  std::vector<double> s;  ///< (k)
  Dense v;                ///< (n, k)
};

/// SvdMethod::accurate for m ≥ n. `a` is overwritten. Throws Error when 60 sweeps do not converge.
Factors jacobi_svd(const View& a);

}  // namespace headroom::engine::linalg
