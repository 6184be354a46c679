#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// n bf16 (their bits) as f32.
HEADROOM_KERNEL_AVX512(void, widen_run, (const uint16_t* x, float* y, int64_t n))
/// `rows` rows of n bf16 that begin `stride` apart as f32, row after row.
HEADROOM_KERNEL_AVX512(void, widen_rows, (const uint16_t* x, int64_t stride, int64_t rows, int64_t n, float* y))
/// And back, rounded to nearest even.
HEADROOM_KERNEL_AVX512(void, narrow_rows, (const float* x, uint16_t* y, int64_t stride, int64_t rows, int64_t n))
/// n f32 as bf16, rounded to nearest even.
HEADROOM_KERNEL_AVX512(void, narrow_run, (const float* x, uint16_t* y, int64_t n))

}  // namespace headroom::engine
