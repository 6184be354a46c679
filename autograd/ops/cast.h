#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// x in another real dtype, rounded to nearest even; dx = dy in x's. x itself where it is of that dtype. Throws Error
/// unless both are real.
Var cast(const Var& x, engine::DType dtype);

}  // namespace headroom::autograd
