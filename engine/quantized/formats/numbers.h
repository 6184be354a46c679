#pragma once
#include "engine/quantized/formats/block.h"

namespace headroom::engine::blocks {

/// 16-bit numbers, each a block by itself, decoded by M::half or M::bfloat.
struct Number {
  static constexpr int elements = 1, bytes = 2, scale_places[2] = {-1, -1}, exponent_place = -1;
  static constexpr bool has_integer_products = false;
  static constexpr double typical = 1;
};

struct F16 : Number {
  template <class M>
  HEADROOM_HD static float at(const uint8_t* block, int) {
    return M::half(block);
  }
};
struct BF16 : Number {
  template <class M>
  HEADROOM_HD static float at(const uint8_t* block, int) {
    return M::bfloat(block);
  }
};

}  // namespace headroom::engine::blocks
