#pragma once
#include "engine/quantized/formats/iq4_nl.h"

namespace headroom::engine::blocks {

/// d, eight 6-bit s whose two high bits are in 2 bytes and whose low halves are in 4, then eight times the 16 bytes of
/// an IQ4_NL:  x = d·(s - 32)·level
struct IQ4_XS : Block<IQ4_XS> {
  static constexpr int elements = 256, bytes = 136, run = 32, scale_places[2] = {0, -1};
  static constexpr bool has_minimum = false, has_integer_products = false;
  static constexpr double typical = 1000;
  template <class M>
  HEADROOM_HD static Scale scale(const uint8_t* block, int j) {
    const int low = block[4 + j / 2] >> (j % 2 * 4) & 15, high = block[2 + j / 4] >> (j % 4 * 2) & 3;
    return {M::product(M::half(block), static_cast<float>((low | high << 4) - 32))};
  }
  template <class M>
  HEADROOM_HD static int number(const uint8_t* block, int j, int i) {
    return uneven_level(block[8 + j * 16 + i % 16] >> (i / 16 * 4) & 15);
  }
};

}  // namespace headroom::engine::blocks
