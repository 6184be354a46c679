#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// Converts x to another real dtype, rounded to nearest even; dx = dy in x's. Returns x if it already has that dtype.
/// Throws Error unless both are real.
Var cast(const Var& x, engine::DType dtype);

}  // namespace headroom::autograd
