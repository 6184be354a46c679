#pragma once
#include "engine/quantized/formats/block.h"

namespace headroom::engine::blocks {

/// 64 bytes of four, d:  x = d·(q - 1). Two stretches of 128 elements; in each, element 32·k + i has bits 2·k and
/// 2·k + 1 of byte i.
struct TQ2_0 : Block<TQ2_0> {
  static constexpr int elements = 256, bytes = 66, run = 32, scale_places[2] = {64, -1};
  static constexpr bool has_minimum = false, has_integer_products = false;
  static constexpr double typical = 1;
  template <class M>
  HEADROOM_HD static Scale scale(const uint8_t* block, int) {
    return {M::half(block + 64)};
  }
  template <class M>
  HEADROOM_HD static int number(const uint8_t* block, int j, int i) {
    return (block[j / 4 * 32 + i] >> (j % 4 * 2) & 3) - 1;
  }
};

}  // namespace headroom::engine::blocks
