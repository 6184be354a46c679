#pragma once
#include <cmath>
#include <limits>
#include <type_traits>

#include "engine/dtype.h"
#include "engine/quantized/format.h"

namespace headroom::engine {

/// True if pack_block() writes blocks of format struct F.
template <class F>
inline constexpr bool packs_blocks =
    F::elements == 1 || std::is_same_v<F, blocks::Q8_0> || std::is_same_v<F, blocks::Q4_0>;

/// a · b, which no compiler fuses with a sum after it.
HEADROOM_HD inline float unfused_product(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

/// Rounds F::elements numbers to one block of F, with the same bits on the CPU and a GPU; those of q8_0 and q4_0 are
/// ggml's, too:
///
///   q8_0   d = max|x| / 127, kept as f16, and q = x/d rounded, ties away from 0
///   q4_0   d = x/-8 of the x of largest |x|, kept as f16, and x/d + 8 rounded, half up, to [0, 15]
///
/// Returns false if d is not finite, because a number is too large for it or NaN: then no number of the block is.
template <class F>
HEADROOM_HD bool pack_block(const float* x, uint8_t* block) {
  const auto put = [block](uint16_t bits) {
    block[0] = static_cast<uint8_t>(bits), block[1] = static_cast<uint8_t>(bits >> 8);
  };
  if constexpr (F::elements == 1) {
    put(std::conditional_t<std::is_same_v<F, blocks::F16>, f16, bf16>(*x).bits);
    return true;
  } else {
    constexpr bool has_bytes = std::is_same_v<F, blocks::Q8_0>;
    float most = 0;
    for (int i = 0; i < F::elements; ++i)
      if (!(std::fabs(x[i]) <= std::fabs(most))) most = x[i] == x[i] ? x[i] : std::numeric_limits<float>::infinity();
    const float step = has_bytes ? std::fabs(most) / 127 : most / -8;
    const f16 scale(step);
    put(scale.bits);
    const bool is_finite = (scale.bits & 0x7c00) != 0x7c00, is_zero = (scale.bits & 0x7fff) == 0;
    const float inverse = is_finite && !is_zero ? 1 / step : 0;
    const auto steps = [&](int i) { return inverse == 0 ? 0 : unfused_product(x[i], inverse); };
    if constexpr (has_bytes) {
      for (int i = 0; i < 32; ++i) block[2 + i] = static_cast<uint8_t>(static_cast<int8_t>(std::round(steps(i))));
    } else {
      const auto level = [&](int i) {
        const float rounded = std::floor(steps(i) + 8.5f);
        return static_cast<int>(rounded < 15 ? rounded : 15);
      };
      for (int i = 0; i < 16; ++i) block[2 + i] = static_cast<uint8_t>(level(i) | (level(i + 16) << 4));
    }
    return is_finite;
  }
}

}  // namespace headroom::engine
