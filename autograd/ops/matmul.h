#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// (…, M, K) × (…, K, N) → (…, M, N), batch axes broadcast. A transposed operand is stored (…, K, M) or (…, N, K).
Var matmul(const Var& a, const Var& b, bool transpose_a = false, bool transpose_b = false);

}  // namespace headroom::autograd
