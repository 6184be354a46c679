#include "engine/ops/dropout/dropout_kernel.h"

#include "engine/cpu/simd_philox.h"

namespace headroom::engine::HEADROOM_ISA {

void dropout_run(const float* x, float* y, int64_t n, uint64_t seed, uint32_t stream, uint64_t block,
                 uint32_t threshold, float factor) {
  constexpr int64_t step = 4 * philox_blocks;  // a multiple of every vector
  const RawI sign = RawI{} + INT32_MIN, least = (RawI{} + static_cast<int32_t>(threshold)) ^ sign;
  for (int64_t i = 0; i < n; i += step, block += philox_blocks) {
    uint32_t words[step];
    philox_words(block, seed, stream, words);
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
