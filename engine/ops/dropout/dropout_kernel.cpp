#include "engine/ops/dropout/dropout_kernel.h"

#include "engine/cpu/simd.h"

namespace headroom::engine::HEADROOM_ISA {

// Philox counters side by side, one in the low half of each 64-bit lane, which is what the widening multiply reads.
static constexpr int group = lanes / 2;
typedef uint64_t Wide __attribute__((vector_size(lanes * 4)));

/// The 64-bit products of the lanes' low halves.
static inline Wide multiply_low(Wide a, Wide b) {
#if defined(__AVX512F__)
  return reinterpret_cast<Wide>(_mm512_maskz_mul_epu32(static_cast<__mmask8>(-1), (__m512i)a, (__m512i)b));
#elif defined(__AVX2__)
  return reinterpret_cast<Wide>(_mm256_mul_epu32((__m256i)a, (__m256i)b));
#else
  return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

/// The four words of the counters `block`, block + 1, …, as engine/rng.h's philox() gives them.
static inline void philox_group(uint64_t seed, uint32_t stream, uint64_t block, uint32_t* words) {
  Wide c0, c1, c2 = Wide{}, c3 = Wide{} + stream;
  for (int i = 0; i < group; ++i) c0[i] = block + static_cast<uint64_t>(i);
  c1 = c0 >> 32;
  auto k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const Wide p0 = multiply_low(c0, Wide{} + 0xD2511F53u), p1 = multiply_low(c2, Wide{} + 0xCD9E8D57u);
    c0 = (p1 >> 32) ^ c1 ^ k0;
    c1 = p1;
    c2 = (p0 >> 32) ^ c3 ^ k1;
    c3 = p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int i = 0; i < group; ++i) {
    words[4 * i] = static_cast<uint32_t>(c0[i]);
    words[4 * i + 1] = static_cast<uint32_t>(c1[i]);
    words[4 * i + 2] = static_cast<uint32_t>(c2[i]);
    words[4 * i + 3] = static_cast<uint32_t>(c3[i]);
  }
}

void dropout_run(const float* x, float* y, int64_t n, uint64_t seed, uint32_t stream, uint64_t block,
                 uint32_t threshold, float factor) {
  constexpr int64_t step = 4 * group;  // two vectors
  const RawI sign = RawI{} + INT32_MIN, least = (RawI{} + static_cast<int32_t>(threshold)) ^ sign;
  for (int64_t i = 0; i < n; i += step, block += group) {
    uint32_t words[step];
    philox_group(seed, stream, block, words);
    for (int64_t j = 0; j < step && i + j < n; j += lanes) {
      RawI bits;
      std::memcpy(&bits, words + j, sizeof(bits));
      const Mask kept{(bits ^ sign) >= least};  // an unsigned comparison
      if (i + j + lanes <= n) store(y + i + j, select(kept, load(x + i + j) * Vec(factor), Vec(0.0f)));
      else store_first(y + i + j, select(kept, load_first(x + i + j, n - i - j) * Vec(factor), Vec(0.0f)), n - i - j);
    }
  }
}

}  // namespace headroom::engine::HEADROOM_ISA
