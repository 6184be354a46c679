#pragma once
#include "engine/quantized/formats/block.h"

namespace headroom::engine::blocks {

/// 32 bytes of third bits, 64 bytes of four pairs of bits as in Q2_K, sixteen 6-bit s in 12 bytes, d:
/// x = d·(s - 32)·(q - 4), where q has its third bit in byte i, bit k, of element 32·k + i.
struct Q3_K : Block<Q3_K> {
  static constexpr int elements = 256, bytes = 110, run = 16, scale_places[2] = {108, -1};
  static constexpr bool has_minimum = false, has_integer_products = false;
  static constexpr double typical = 60;
  template <class M>
  HEADROOM_HD static Scale scale(const uint8_t* block, int j) {
    const uint8_t* const b = block + 96;
    const int low = b[j % 8] >> (j / 8 * 4) & 15, high = b[8 + j % 4] >> (j / 4 * 2) & 3;
    return {M::product(M::half(block + 108), static_cast<float>((low | high << 4) - 32))};
  }
  template <class M>
  HEADROOM_HD static int number(const uint8_t* block, int j, int i) {
    const int place = j % 2 * 16 + i;
    const int low = block[32 + j / 8 * 32 + place] >> (j % 8 / 2 * 2) & 3;
    return (low | (block[place] >> (j / 2) & 1) << 2) - 4;
  }
};

}  // namespace headroom::engine::blocks
