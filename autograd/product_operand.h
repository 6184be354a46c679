#pragma once
#include "engine/context.h"
#include "engine/tensor.h"

namespace headroom::autograd {

/// An operand of a product, or the gradient of its result, rounded to the context's precision; x itself for f32.
/// Undefined stays undefined.
engine::Tensor product_operand(const engine::Tensor& x);

}  // namespace headroom::autograd
