#pragma once
#include "engine/quantized/formats/block.h"

namespace headroom::engine::blocks {

/// d, m, eight 6-bit pairs (s, n) in 12 bytes, 128 bytes of two:  x = d·s·q - m·n
struct Q4_K : Block<Q4_K> {
  static constexpr int elements = 256, bytes = 144, run = 32, scale_places[2] = {0, 2};
  static constexpr bool has_minimum = true, has_integer_products = true;
  static constexpr double typical = 250;
  static constexpr int low = 0, high = 15, scale_low = 0, scale_high = 63;
  template <class M>
  HEADROOM_HD static Scale scale(const uint8_t* block, int j) {
    const uint8_t* const b = block + 4;
    const int s = j < 4 ? b[j] & 63 : (b[j + 4] & 15) | (b[j - 4] >> 6) << 4;
    const int n = j < 4 ? b[j + 4] & 63 : (b[j + 4] >> 4) | (b[j] >> 6) << 4;
    return {M::product(M::half(block), static_cast<float>(s)), -M::product(M::half(block + 2), static_cast<float>(n))};
  }
  template <class M>
  HEADROOM_HD static int number(const uint8_t* block, int j, int i) {
    return block[16 + j / 2 * 32 + i] >> (j % 2 * 4) & 15;
  }
  static void put_scale(uint8_t* block, int j, int s, int n) {
    uint8_t* const b = block + 4;
    if (j < 4) return put_bits(b[j], s), put_bits(b[j + 4], n);
    put_bits(b[j + 4], (s & 15) | (n & 15) << 4);
    put_bits(b[j - 4], s >> 4 << 6), put_bits(b[j], n >> 4 << 6);
  }
  static void put_number(uint8_t* block, int j, int i, int q) {
    put_bits(block[16 + j / 2 * 32 + i], q << (j % 2 * 4));
  }
};

}  // namespace headroom::engine::blocks
