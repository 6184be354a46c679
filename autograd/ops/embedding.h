#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// table (V, C), indices i64 or i32 of any shape (…) → (…, C). Throws Error naming an index outside [0, V).
Var embedding(const Var& table, const Tensor& indices);

}  // namespace headroom::autograd
