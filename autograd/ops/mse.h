#pragma once
#include "autograd/reduction.h"
#include "autograd/var.h"

namespace headroom::autograd {

/// mean or sum of (prediction - target)², same shapes → scalar, f32 for a prediction in bf16. The target may
/// be of another real dtype; it is compared in the loss's.
Var mse(const Var& prediction, const Var& target, Reduction reduction = Reduction::mean);

}  // namespace headroom::autograd
