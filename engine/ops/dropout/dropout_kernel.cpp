#include "engine/ops/dropout/dropout_kernel.h"

namespace headroom::engine::HEADROOM_ISA {

static constexpr int group = 16;  // counters computed side by side: the compiler makes vectors of the loops over them

/// The four words of `group` counters, as engine/rng.h's philox() gives them.
static void philox_group(uint64_t seed, uint32_t stream, uint64_t block, uint32_t* __restrict words) {
  uint32_t c0[group], c1[group], c2[group], c3[group];
  for (int i = 0; i < group; ++i) {
    const uint64_t index = block + static_cast<uint64_t>(i);
    c0[i] = static_cast<uint32_t>(index);
    c1[i] = static_cast<uint32_t>(index >> 32);
    c2[i] = 0;
    c3[i] = stream;
  }
  auto k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < group; ++i) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * c0[i], p1 = uint64_t{0xCD9E8D57u} * c2[i];
      c0[i] = static_cast<uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<uint32_t>(p1);
      c2[i] = static_cast<uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<uint32_t>(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int i = 0; i < group; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

void dropout_run(const float* x, float* y, int64_t n, uint64_t seed, uint32_t stream, uint64_t block,
                 uint32_t threshold, float factor) {
  uint32_t words[4 * group];
  for (int64_t i = 0; i < n; i += 4 * group, block += group) {
    philox_group(seed, stream, block, words);
    const int64_t count = n - i < 4 * group ? n - i : 4 * group;
    for (int64_t j = 0; j < count; ++j) {
      const float kept = x[i + j] * factor;
      y[i + j] = words[j] >= threshold ? kept : 0.0f;
    }
  }
}

}  // namespace headroom::engine::HEADROOM_ISA
