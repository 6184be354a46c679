#pragma once
#include "autograd/reduction.h"
#include "autograd/var.h"

namespace headroom::autograd {

/// mean or sum of (prediction - target)², same shapes → scalar.
Var mse(const Var& prediction, const Var& target, Reduction reduction = Reduction::mean);

}  // namespace headroom::autograd
