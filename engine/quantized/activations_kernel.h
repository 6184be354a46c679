#pragma once
#include "engine/kernel.h"

namespace headroom::engine {

/// Elements of an activation block; each block has its own scale.
inline constexpr int64_t activation_block = 32;

/// One row of n numbers in blocks of 32 (n a multiple of it): see QuantizedActivations. The same bits at every level.
HEADROOM_KERNEL(void, quantize_activations, (const float* x, int64_t n, int8_t* values, float* scales, float* sums))
/// Back to numbers: scale · value.
HEADROOM_KERNEL(void, dequantize_activations, (const int8_t* values, const float* scales, int64_t n, float* x))

}  // namespace headroom::engine
