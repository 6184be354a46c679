#pragma once
#include "autograd/var.h"

namespace headroom::models {

/// A matrix per head: x (…, heads, in), weight (heads · out, in) → (…, heads, out), y_h = W_h x_h. Throws Error when
/// the shapes do not fit.
autograd::Var per_head_linear(const autograd::Var& x, const autograd::Var& weight);

}  // namespace headroom::models
