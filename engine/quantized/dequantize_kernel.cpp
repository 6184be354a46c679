// Compiled once per instruction set: plain loops, which the compiler turns into vectors. Every number is computed by
// itself, so that the bits are the same at every level.
#include "engine/quantized/dequantize_kernel.h"

#include "engine/cpu/half.h"

namespace headroom::engine::HEADROOM_ISA {

/// The machine of formats/block.h.
struct Cpu {
  static float half(const uint8_t* p) { return half_at(p); }
  static float bfloat(const uint8_t* p) { return bfloat_at(p); }
  static float product(float a, float b) { return a * b; }
  static float sum(float a, float b) { return a + b; }
};

template <class F>
static void unpack(const uint8_t* block, float* __restrict x) {
  for (int j = 0; j < F::elements / F::run; ++j) {
    const blocks::Scale scale = F::template scale<Cpu>(block, j);
#pragma GCC unroll 1  // unrolled it is not vectorised
    for (int i = 0; i < F::run; ++i) x[j * F::run + i] = F::template value<Cpu>(scale, block, j, i);
  }
}

/// Numbers of one to a block; those of f16 by eights, where the level can.
template <class F>
static void widen(const uint8_t* bytes, int64_t count, float* x) {
  int64_t i = 0;
#ifdef __F16C__
  if constexpr (std::is_same_v<F, blocks::F16>)
    for (; i + 8 <= count; i += 8)
      _mm256_storeu_ps(x + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 2 * i))));
#endif
  for (; i < count; ++i) x[i] = F::template at<Cpu>(bytes + 2 * i, 0);
}

void dequantize_blocks(BlockFormat format, const uint8_t* b, int64_t count, float* x) {
  visit_format(format, [&](auto f) {
    using F = decltype(f);
    if constexpr (F::elements == 1) widen<F>(b, count, x);
    else
      for (int64_t i = 0; i < count; ++i) unpack<F>(b + i * F::bytes, x + i * F::elements);
  });
}

}  // namespace headroom::engine::HEADROOM_ISA
