#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// Constants of one Adam step, prepared in f64 and rounded once.
struct AdamConstants {
  float keep, l2, one_minus_beta1, beta2, one_minus_beta2, step_size, inverse_root, eps, gradient_factor;
};
HEADROOM_KERNEL_AVX512(void, adam_run,
                       (float* p, const float* g, float* m, float* v, int64_t n, const AdamConstants& c))
/// The same, and copy[i] = the bf16 nearest to p[i], ties to even.
HEADROOM_KERNEL_AVX512(void, adam_bf16_run,
                       (float* p, const float* g, float* m, float* v, uint16_t* copy, int64_t n,
                        const AdamConstants& c))
/// Σ x² of n ≤ 2^14 values.
HEADROOM_KERNEL_AVX512(double, square_sum_run, (const float* x, int64_t n))

}  // namespace headroom::engine
