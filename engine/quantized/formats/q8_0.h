#pragma once
#include "engine/quantized/formats/block.h"

namespace headroom::engine::blocks {

/// d, 32 signed bytes:  x = d·q
struct Q8_0 : Block<Q8_0> {
  static constexpr int elements = 32, bytes = 34, run = 32, scale_places[2] = {0, -1};
  static constexpr bool has_minimum = false, has_integer_products = true;
  static constexpr double typical = 64;
  template <class M>
  HEADROOM_HD static Scale scale(const uint8_t* block, int) {
    return {M::half(block)};
  }
  template <class M>
  HEADROOM_HD static int number(const uint8_t* block, int, int i) {
    return static_cast<int8_t>(block[2 + i]);
  }
};

}  // namespace headroom::engine::blocks
