#pragma once
#include "engine/quantized/formats/block.h"

namespace headroom::engine::blocks {

/// 4 or 5 bits: d, m if `has_m`, 32 fifth bits if `has_fifth`, and 16 bytes of two numbers each: low halves are
/// elements 0–15, high halves 16–31.  x = d·(q - offset), or x = d·q + m
template <bool has_fifth, bool has_m>
struct Halves : Block<Halves<has_fifth, has_m>> {
  static constexpr int elements = 32, head = has_m ? 4 : 2, bytes = head + (has_fifth ? 4 : 0) + 16, run = 16;
  static constexpr int scale_places[2] = {0, has_m ? 2 : -1}, offset = has_m ? 0 : has_fifth ? 16 : 8;
  static constexpr bool has_minimum = has_m, has_integer_products = true;
  static constexpr int low = -offset, high = (has_fifth ? 31 : 15) - offset, scale_low = 1, scale_high = 1;
  static constexpr double typical = (has_fifth ? 16.0 : 8.0) / (has_m ? 1 : 2);
  template <class M>
  HEADROOM_HD static Scale scale(const uint8_t* block, int) {
    return {M::half(block), has_m ? M::half(block + 2) : 0};
  }
  template <class M>
  HEADROOM_HD static int number(const uint8_t* block, int j, int i) {
    int q = block[bytes - 16 + i] >> (4 * j) & 15;
    if constexpr (has_fifth) {
      const uint8_t* const b = block + head;
      const uint32_t bits = b[0] | b[1] << 8 | b[2] << 16 | static_cast<uint32_t>(b[3]) << 24;
      q |= static_cast<int>(bits >> (16 * j + i) & 1) << 4;
    }
    return q - offset;
  }
  static void put_scale(uint8_t*, int, int, int) {}
  static void put_number(uint8_t* block, int j, int i, int q) {
    put_bits(block[bytes - 16 + i], ((q + offset) & 15) << (4 * j));
    if constexpr (has_fifth) put_bits(block[head + 2 * j + i / 8], (q + offset) >> 4 << (i % 8));
  }
};

using Q4_0 = Halves<false, false>;
using Q4_1 = Halves<false, true>;
using Q5_0 = Halves<true, false>;
using Q5_1 = Halves<true, true>;

}  // namespace headroom::engine::blocks
