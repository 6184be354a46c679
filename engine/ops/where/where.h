#pragma once
#include "engine/tensor.h"

namespace headroom::engine {

/// y = condition ? a : b; condition bool, all three broadcast. da = condition ? dy : 0, db = condition ? 0 : dy. Throws
/// Error when the shapes do not fit or the condition is not bool.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

}  // namespace headroom::engine
