#pragma once
#include "engine/linalg/svd.h"

namespace headroom::engine::linalg {

/// SvdMethod::accurate for m ≥ n. `a` is overwritten. Throws Error when 60 sweeps do not converge.
Factors jacobi_svd(const View& a);
/// s alone: the rotations are not gathered, and no vectors are rotated back.
std::vector<double> jacobi_values(const View& a);

}  // namespace headroom::engine::linalg
