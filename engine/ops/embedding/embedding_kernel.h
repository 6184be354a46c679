#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// out[j] = Σ_k x[rows[k]·stride + j] for j < n, over `count` rows in their order.
HEADROOM_KERNEL(void, add_listed_rows,
                (const float* x, int64_t stride, const int64_t* rows, int64_t count, float* out, int64_t n))
/// The same of bf16 (their bits), summed in f32 and rounded once.
HEADROOM_KERNEL(void, add_listed_rows_bf16,
                (const uint16_t* x, int64_t stride, const int64_t* rows, int64_t count, uint16_t* out, int64_t n))

}  // namespace headroom::engine
