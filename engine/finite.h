#pragma once
#include <optional>
#include <string>

#include "engine/quantized/quantized_matrix.h"

namespace headroom::engine {

/// The first non-finite number in row-major order: "nan at (3, 3)"; for a block with a non-finite scale, its first
/// number. nullopt if all are finite, and for integer dtypes. Works on any device, in parallel, in one pass over a
/// tensor's bytes or over the f16 scales of blocks.
std::optional<std::string> first_not_finite(const Tensor& x);
std::optional<std::string> first_not_finite(const QuantizedMatrix& matrix);

}  // namespace headroom::engine
