// Compiled once per instruction set: plain loops, which the compiler turns into vectors. Every number is computed by
// itself, so that the bits are the same at every level.
#include "engine/quantized/dequantize_kernel.h"

#include "engine/cpu/half.h"

namespace headroom::engine::HEADROOM_ISA {

static void dequantize_q8_0(const uint8_t* block, float* x) {
  const float d = half_at(block);
  for (int i = 0; i < 32; ++i) x[i] = d * static_cast<float>(static_cast<int8_t>(block[2 + i]));
}

/// x = d·(q - offset) + m of 32 elements with halves of 16 bytes, and fifth bits where the format has them.
template <bool has_fifth, bool has_m>
static void dequantize_halves(const uint8_t* halves, const uint8_t* fifth, float d, int offset, float m, float* x) {
  uint32_t high = 0;
  if constexpr (has_fifth) std::memcpy(&high, fifth, 4);
  for (int i = 0; i < 16; ++i) {
    int low = halves[i] & 15, upper = halves[i] >> 4;
    if constexpr (has_fifth) {
      low |= static_cast<int>((high >> i & 1) << 4);
      upper |= static_cast<int>((high >> (i + 16) & 1) << 4);
    }
    const float a = d * static_cast<float>(low - offset), b = d * static_cast<float>(upper - offset);
    x[i] = has_m ? a + m : a;
    x[i + 16] = has_m ? b + m : b;
  }
}

/// Eight pairs of 6 bits in 12 bytes: scale and minimum of each 32 elements.
static void dequantize_q4_k(const uint8_t* block, float* x) {
  const float d = half_at(block), m = half_at(block + 2);
  const uint8_t *b = block + 4, *halves = block + 16;
  for (int j = 0; j < 8; ++j) {
    const int scale = j < 4 ? b[j] & 63 : (b[j + 4] & 15) | (b[j - 4] >> 6) << 4;
    const int minimum = j < 4 ? b[j + 4] & 63 : (b[j + 4] >> 4) | (b[j] >> 6) << 4;
    const float step = d * static_cast<float>(scale), low = m * static_cast<float>(minimum);
    const int shift = j % 2 * 4;
    for (int i = 0; i < 32; ++i)
      x[j * 32 + i] = step * static_cast<float>((halves[j / 2 * 32 + i] >> shift) & 15) - low;
  }
}

/// Two runs of 128 elements; in each, element 32·j + i has its low half in byte 32·(j % 2) + i and its two high bits in
/// byte i, bits 2·j and 2·j + 1.
static void dequantize_q6_k(const uint8_t* block, float* x) {
  const uint8_t *low = block, *high = block + 128, *scales = block + 192;
  const float d = half_at(block + 208);
  for (int sixteen = 0; sixteen < 16; ++sixteen) {
    const int run = sixteen / 8, j = sixteen % 8 / 2, first = sixteen % 2 * 16;
    const float step = d * static_cast<float>(static_cast<int8_t>(scales[sixteen]));
    const uint8_t *const halves = low + run * 64 + j % 2 * 32 + first, *const bits = high + run * 32 + first;
    const int half_shift = j < 2 ? 0 : 4, bits_shift = 2 * j;
    for (int i = 0; i < 16; ++i) {
      const int q = ((halves[i] >> half_shift) & 15) | (bits[i] >> bits_shift & 3) << 4;
      x[sixteen * 16 + i] = step * static_cast<float>(q - 32);
    }
  }
}

static void widen_f16(const uint8_t* bytes, int64_t count, float* x) {
  int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(x + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 2 * i))));
#endif
  for (; i < count; ++i) x[i] = half_at(bytes + 2 * i);
}

static void widen_bf16(const uint8_t* bytes, int64_t count, float* x) {
  for (int64_t i = 0; i < count; ++i) x[i] = bfloat_at(bytes + 2 * i);
}

void dequantize_blocks(BlockFormat format, const uint8_t* b, int64_t count, float* x) {
  switch (format) {
    case BlockFormat::q8_0:
      for (int64_t i = 0; i < count; ++i) dequantize_q8_0(b + i * 34, x + i * 32);
      return;
    case BlockFormat::q4_0:
      for (int64_t i = 0; i < count; ++i, b += 18)
        dequantize_halves<false, false>(b + 2, nullptr, half_at(b), 8, 0, x + i * 32);
      return;
    case BlockFormat::q4_1:
      for (int64_t i = 0; i < count; ++i, b += 20)
        dequantize_halves<false, true>(b + 4, nullptr, half_at(b), 0, half_at(b + 2), x + i * 32);
      return;
    case BlockFormat::q5_0:
      for (int64_t i = 0; i < count; ++i, b += 22)
        dequantize_halves<true, false>(b + 6, b + 2, half_at(b), 16, 0, x + i * 32);
      return;
    case BlockFormat::q5_1:
      for (int64_t i = 0; i < count; ++i, b += 24)
        dequantize_halves<true, true>(b + 8, b + 4, half_at(b), 0, half_at(b + 2), x + i * 32);
      return;
    case BlockFormat::q4_k:
      for (int64_t i = 0; i < count; ++i) dequantize_q4_k(b + i * 144, x + i * 256);
      return;
    case BlockFormat::q6_k:
      for (int64_t i = 0; i < count; ++i) dequantize_q6_k(b + i * 210, x + i * 256);
      return;
    case BlockFormat::f16:
      return widen_f16(b, count, x);
    case BlockFormat::bf16:
      return widen_bf16(b, count, x);
  }
}

}  // namespace headroom::engine::HEADROOM_ISA
