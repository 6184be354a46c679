#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// Widens n bf16 (as bits) to f32.
HEADROOM_KERNEL_AVX512(void, widen_run, (const uint16_t* x, float* y, int64_t n))
/// Widens `rows` rows of n bf16 that start `stride` apart to contiguous f32.
HEADROOM_KERNEL_AVX512(void, widen_rows, (const uint16_t* x, int64_t stride, int64_t rows, int64_t n, float* y))
/// The inverse, rounded to nearest even.
HEADROOM_KERNEL_AVX512(void, narrow_rows, (const float* x, uint16_t* y, int64_t stride, int64_t rows, int64_t n))
/// Rounds n f32 to bf16, to nearest even.
HEADROOM_KERNEL_AVX512(void, narrow_run, (const float* x, uint16_t* y, int64_t n))

}  // namespace headroom::engine
