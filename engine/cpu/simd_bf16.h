#pragma once
// bf16 in memory as f32 vectors, and products of bf16 pairs, for files compiled once per instruction set.
#include "engine/cpu/simd.h"

namespace headroom::engine::HEADROOM_ISA {

typedef uint16_t RawHalf __attribute__((vector_size(lanes * 2)));
typedef uint32_t RawU __attribute__((vector_size(lanes * 4)));

static inline Vec widened(RawHalf x) { return reinterpret_cast<RawF>(__builtin_convertvector(x, RawU) << 16); }

static inline Vec load_bf16(const uint16_t* p) {
  RawHalf x;
  std::memcpy(&x, p, sizeof(x));
  return widened(x);
}
/// Loads the first n < lanes elements and zeros.
static inline Vec load_bf16_first(const uint16_t* p, int64_t n) {
  RawHalf x{};
  std::memcpy(&x, p, static_cast<size_t>(n) * sizeof(uint16_t));
  return widened(x);
}

/// Rounds f32 to bf16, to nearest even; a NaN stays one. `vcvtneps2bf16` would lose subnormal numbers.
static inline RawHalf to_bf16(Vec x) {
  const auto bits = reinterpret_cast<RawU>(x.v), upper = bits >> 16;
  const RawU rounded = (bits + 0x7fffu + (upper & 1u)) >> 16;
  const auto number = reinterpret_cast<RawU>(x.v == x.v);
  return __builtin_convertvector((number & rounded) | (~number & (upper | 0x40u)), RawHalf);
}
static inline void store_bf16(uint16_t* p, Vec x) {
  const RawHalf half = to_bf16(x);
  std::memcpy(p, &half, sizeof(half));
}
static inline void store_bf16_first(uint16_t* p, Vec x, int64_t n) {
  const RawHalf half = to_bf16(x);
  std::memcpy(p, &half, static_cast<size_t>(n) * sizeof(uint16_t));
}

/// `lanes` pairs of bf16, the first of each in the lower half of its 32 bits.
struct Pairs {
  RawU v;
};
static inline Pairs load_pairs(const uint32_t* p) {
  Pairs x;
  std::memcpy(&x.v, p, sizeof(x.v));
  return x;
}

#ifndef __AVX512BF16__
namespace detail {
static inline Vec flushed(Vec x) { return select(abs(x) < Vec(1.17549435e-38f), as_float(as_int(x) & INT32_MIN), x); }
/// a·b + c rounded once, at every level: a product of two bf16 is exact in f32 unless it leaves the normal range.
static inline Vec fma_exact(Vec a, Vec b, Vec c) {
#ifdef __AVX2__
  return fma(a, b, c);
#else
  const Vec p = a * b, size = abs(p);
  Vec y = p + c;
  if (any((size < Vec(1.17549435e-38f)) | (size == Vec(__builtin_inff()))))
    for (int i = 0; i < lanes; ++i) y.v[i] = __builtin_fmaf(a.v[i], b.v[i], c.v[i]);
  return y;
#endif
}
static inline Vec dot_step(Vec sum, Vec a, Vec b) { return flushed(fma_exact(flushed(a), flushed(b), flushed(sum))); }
}  // namespace detail
#endif

/// sum + a·b of two pairs per lane, rounded like `vdpbf16ps`: adds the product of the upper elements, then that of the
/// lower ones, each with a single rounding to nearest even; subnormal operands and results become zero of their sign.
/// Without the instruction, f32 arithmetic gives the same bits (a NaN may differ in its payload), at a fraction of the
/// speed.
static inline Vec dot_pairs(Vec sum, Pairs a, Pairs b) {
#ifdef __AVX512BF16__
  return Vec(reinterpret_cast<RawF>(_mm512_dpbf16_ps((__m512)sum.v, (__m512bh)a.v, (__m512bh)b.v)));
#else
  const auto upper = [](Pairs x) { return Vec(reinterpret_cast<RawF>(x.v & 0xffff0000u)); };
  const auto lower = [](Pairs x) { return Vec(reinterpret_cast<RawF>(x.v << 16)); };
  return detail::dot_step(detail::dot_step(sum, upper(a), upper(b)), lower(a), lower(b));
#endif
}

}  // namespace headroom::engine::HEADROOM_ISA
