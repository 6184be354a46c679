#pragma once
#include "engine/linalg/svd.h"

namespace headroom::engine::linalg {

/// SvdMethod::accurate for m ≥ n. Overwrites `a`. Throws Error if 60 sweeps do not converge.
Factors jacobi_svd(const View& a);
/// s only: does not collect rotations or rotate vectors back.
std::vector<double> jacobi_values(const View& a);

}  // namespace headroom::engine::linalg
