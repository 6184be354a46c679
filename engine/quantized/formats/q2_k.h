#pragma once
#include "engine/quantized/formats/block.h"

namespace headroom::engine::blocks {

/// Sixteen 4-bit pairs (s, n), 64 bytes of four, d, m:  x = d·s·q - m·n. Two stretches of 128 elements; in each,
/// element 32·k + i has its bits 2·k and 2·k + 1 of byte i.
struct Q2_K : Block<Q2_K> {
  static constexpr int elements = 256, bytes = 84, run = 16, scale_places[2] = {80, 82};
  static constexpr bool has_minimum = true, has_integer_products = false;
  static constexpr double typical = 15;
  template <class M>
  HEADROOM_HD static Scale scale(const uint8_t* block, int j) {
    return {M::product(M::half(block + 80), static_cast<float>(block[j] & 15)),
            -M::product(M::half(block + 82), static_cast<float>(block[j] >> 4))};
  }
  template <class M>
  HEADROOM_HD static int number(const uint8_t* block, int j, int i) {
    return block[16 + j / 8 * 32 + j % 2 * 16 + i] >> (j % 8 / 2 * 2) & 3;
  }
};

}  // namespace headroom::engine::blocks
