#pragma once
#include "engine/quantized/formats/block.h"

namespace headroom::engine::blocks {

/// The 16 levels of four bits, denser where weights are frequent (ggml-common.h, kvalues_iq4nl).
HEADROOM_HD inline int uneven_level(int half) {
  constexpr int8_t levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  return levels[half];
}

/// d, 16 bytes of two numbers each: low halves are elements 0–15, high halves 16–31:  x = d·level
struct IQ4_NL : Block<IQ4_NL> {
  static constexpr int elements = 32, bytes = 18, run = 16, scale_places[2] = {0, -1};
  static constexpr bool has_minimum = false, has_integer_products = false;
  static constexpr double typical = 50;
  template <class M>
  HEADROOM_HD static Scale scale(const uint8_t* block, int) {
    return {M::half(block)};
  }
  template <class M>
  HEADROOM_HD static int number(const uint8_t* block, int j, int i) {
    return uneven_level(block[2 + i] >> (4 * j) & 15);
  }
};

}  // namespace headroom::engine::blocks
