#pragma once
#include <cstdint>

#include "engine/host_device.h"

namespace headroom::engine::blocks {

/// x = step · q, or step · q + minimum if the format has one.
struct Scale {
  float step, minimum = 0;
};

/// Sets bits that are 0.
inline void put_bits(uint8_t& byte, int bits) { byte = static_cast<uint8_t>(byte | bits); }

/// The members of a block format's struct `F`, for the CPU, which unpacks whole blocks, and the GPU, which reads one
/// number at a time:
///
///   elements, bytes    of a block
///   run                consecutive numbers that share a Scale
///   scale<M>(b, j)     the Scale of run j of the block at b
///   number<M>(b, j, i) q of number i of that run
///   has_minimum        true if the Scale's minimum is added
///   scale_places       offsets of a block's f16: the first, and a second or -1
///   exponent_place     offset of the one-byte exponent if the scale is a power of two; else -1
///   typical            rough size of a number in units of the first f16, for tests' random blocks
///   low, high          the least and the largest q, if quantize() writes the format
///   scale_low, scale_high  the least and the largest integer that a run's step is a multiple of the first f16 by
///   put_scale(b, j, s, n), put_number(b, j, i, q)  the inverses of scale() and number() for integers s, n and q, in a
///   block of zeros
///   has_integer_products  true if engine/ops/quantized_linear/quantized_linear_blocks.h multiplies it by 8-bit
///   integers
///
/// M is the machine: M::half(p) is its f16 at p as f32, M::product and M::sum round separately. Everything is a
/// template over it, so that each instruction set has its own functions.
template <class F>
struct Block {
  static constexpr int exponent_place = -1;
  template <class M>
  HEADROOM_HD static float value(const Scale& scale, const uint8_t* block, int j, int i) {
    const float x = M::product(scale.step, static_cast<float>(F::template number<M>(block, j, i)));
    return F::has_minimum ? M::sum(x, scale.minimum) : x;
  }
  /// Number i of a block.
  template <class M>
  HEADROOM_HD static float at(const uint8_t* block, int i) {
    return value<M>(F::template scale<M>(block, i / F::run), block, i / F::run, i % F::run);
  }
};

}  // namespace headroom::engine::blocks
