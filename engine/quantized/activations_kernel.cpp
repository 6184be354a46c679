// Compiled once per instruction set. The portable version defines what the others compute to the bit.
#include "engine/quantized/activations_kernel.h"

#include "engine/cpu/simd.h"

namespace headroom::engine::HEADROOM_ISA {

/// Scale of a block whose largest magnitude is `most`, and what its numbers are multiplied by. Below 10^-30, where the
/// factor would overflow, a block counts as zeros; a number that is not finite makes the scale NaN.
static inline float scale_of(float most, float& factor) {
  factor = 0;
  if (!(most < __builtin_inff())) return __builtin_nanf("");
  if (most < 1e-30f) return 0;
  factor = 127 / most;
  return most / 127;
}

#ifdef __AVX2__

void quantize_activations(const float* x, int64_t n, int8_t* values, float* scales, float* sums) {
  const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  for (int64_t b = 0; b < n / activation_block; ++b, x += activation_block) {
    __m256 v[4];
    for (int i = 0; i < 4; ++i) v[i] = _mm256_loadu_ps(x + 8 * i);
    // As integers magnitudes have the order of the numbers, and a NaN is above infinity.
    __m256i most = _mm256_castps_si256(_mm256_and_ps(v[0], magnitude));
    for (int i = 1; i < 4; ++i) most = _mm256_max_epi32(most, _mm256_castps_si256(_mm256_and_ps(v[i], magnitude)));
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
    float factor;
    const float scale = scale_of(_mm_cvtss_f32(_mm_castsi128_ps(m)), factor);
    const __m256 times = _mm256_set1_ps(factor);
    __m256i q[4];
    for (int i = 0; i < 4; ++i) q[i] = _mm256_cvtps_epi32(_mm256_mul_ps(v[i], times));
    if (factor == 0)
      for (auto& part : q) part = _mm256_setzero_si256();  // not what inf · 0 converts to
    const __m256i total = _mm256_add_epi32(_mm256_add_epi32(q[0], q[1]), _mm256_add_epi32(q[2], q[3]));
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(total), _mm256_extracti128_si256(total, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
    const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(values + b * activation_block),
                        _mm256_permutevar8x32_epi32(bytes, order));
    scales[b] = scale;
    sums[b] = scale * static_cast<float>(_mm_cvtsi128_si32(s));
  }
}

#else

void quantize_activations(const float* x, int64_t n, int8_t* values, float* scales, float* sums) {
  for (int64_t b = 0; b < n / activation_block; ++b, x += activation_block, values += activation_block) {
    float most = 0, factor;
    for (int i = 0; i < activation_block; ++i) {
      const float a = __builtin_fabsf(x[i]);
      if (!(a <= most)) most = a == a ? a : __builtin_inff();
    }
    scales[b] = scale_of(most, factor);
    int sum = 0;
    for (int i = 0; i < activation_block; ++i) {
      values[i] = factor == 0 ? int8_t{0} : static_cast<int8_t>(__builtin_nearbyintf(x[i] * factor));
      sum += values[i];
    }
    sums[b] = scales[b] * static_cast<float>(sum);
  }
}

#endif

void dequantize_activations(const int8_t* values, const float* scales, int64_t n, float* x) {
  for (int64_t b = 0; b < n / activation_block; ++b, values += activation_block, x += activation_block)
    for (int i = 0; i < activation_block; ++i) x[i] = scales[b] * static_cast<float>(values[i]);
}

}  // namespace headroom::engine::HEADROOM_ISA
