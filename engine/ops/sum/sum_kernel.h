#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// Σ of n contiguous values.
HEADROOM_KERNEL_AVX512(float, sum_run, (const float* x, int64_t n))
/// y[j] = Σ_i x[i·n + j] over `rows` rows, added in order.
HEADROOM_KERNEL_AVX512(void, sum_columns, (const float* x, float* y, int64_t rows, int64_t n))
/// The same for bf16 (as bits), in f32.
HEADROOM_KERNEL_AVX512(float, sum_run_bf16, (const uint16_t* x, int64_t n))
HEADROOM_KERNEL_AVX512(void, sum_columns_bf16, (const uint16_t* x, float* y, int64_t rows, int64_t n))

}  // namespace headroom::engine
