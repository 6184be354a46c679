#pragma once
#include <vector>

#include "engine/tensor.h"

namespace headroom::engine {

/// Joins the parts along `axis`: (…, n₁, …), (…, n₂, …) → (…, n₁ + n₂ + …, …), any one dtype. The other axes must
/// agree. Throws Error naming the first part that does not fit, and if there is no part.
Tensor concat(const std::vector<Tensor>& parts, int axis);

}  // namespace headroom::engine
