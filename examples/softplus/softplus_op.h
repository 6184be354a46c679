#pragma once
#include "autograd/op_suite/sample.h"
#include "autograd/var.h"

namespace headroom::autograd {

/// log(1 + e^x), any shape, f32 or f64. Throws Error for other dtypes.
Var softplus(const Var& x);

/// What its tests run it on.
OpSamples softplus_samples();

}  // namespace headroom::autograd
