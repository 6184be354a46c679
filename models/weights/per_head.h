#pragma once
#include "autograd/var.h"

namespace headroom::models {

/// Multiplies each head by its own matrix: x (…, heads, in), weight (heads · out, in) → (…, heads, out), y_h = W_h x_h.
/// Throws Error if the shapes do not fit.
autograd::Var per_head_linear(const autograd::Var& x, const autograd::Var& weight);

}  // namespace headroom::models
