#pragma once
#include <string>

#include "engine/quantized/quantized_matrix.h"

namespace headroom::autograd::op_suite {

/// A matrix of random blocks, a pure function of its arguments: every bit pattern of the integers occurs, scales are
/// finite and such that the numbers are of order one.
engine::QuantizedMatrix random_blocks(const std::string& name, engine::BlockFormat format, int64_t rows, int64_t cols);

}  // namespace headroom::autograd::op_suite
