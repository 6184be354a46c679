#pragma once
#include <optional>
#include <string>

#include "engine/quantized/quantized_matrix.h"

namespace headroom::engine {

/// The first number that is not finite, in row-major order: "nan at (3, 3)"; of a block whose scale is not, its first
/// number. nullopt where all are finite, and for dtypes of integers. On any device, in parallel; one pass over the
/// bytes of a tensor, and over the f16 scales of blocks.
std::optional<std::string> first_not_finite(const Tensor& x);
std::optional<std::string> first_not_finite(const QuantizedMatrix& matrix);

}  // namespace headroom::engine
