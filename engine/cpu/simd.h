#pragma once
// One vector type of f32 and the functions kernels need, written once for every instruction set. Included only by files
// that are compiled once per level with HEADROOM_ISA set to `portable`, `avx2` or `avx512`. Everything lives in that
// namespace, so that no two levels share a symbol.
#include <cstdint>
#include <cstring>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#ifndef HEADROOM_ISA
#error "simd.h is for kernels that are compiled once per instruction set: see engine/kernel.h"
#endif

namespace headroom::engine::HEADROOM_ISA {

#if defined(__AVX512F__)
inline constexpr int lanes = 16;
#elif defined(__AVX2__)
inline constexpr int lanes = 8;
#else
inline constexpr int lanes = 4;
#endif

typedef float RawF __attribute__((vector_size(lanes * 4)));
typedef int32_t RawI __attribute__((vector_size(lanes * 4)));

/// Per-lane truth: all bits set, or none.
struct Mask {
  RawI v;
  friend Mask operator&(Mask a, Mask b) { return {a.v & b.v}; }
  friend Mask operator|(Mask a, Mask b) { return {a.v | b.v}; }
  friend Mask operator!(Mask a) { return {~a.v}; }
};

/// `lanes` floats.
struct Vec {
  RawF v;
  Vec() = default;
  Vec(RawF raw) : v(raw) {}
  Vec(float x) : v(x - RawF{}) {}  // one broadcast: x - 0 is x, where 0 + x would make +0 of -0 and cost an addition
  explicit Vec(double x) : Vec(static_cast<float>(x)) {}

  friend Vec operator+(Vec a, Vec b) { return a.v + b.v; }
  friend Vec operator-(Vec a, Vec b) { return a.v - b.v; }
  friend Vec operator*(Vec a, Vec b) { return a.v * b.v; }
  friend Vec operator/(Vec a, Vec b) { return a.v / b.v; }
  friend Vec operator-(Vec a) { return -a.v; }
  Vec& operator+=(Vec b) { return *this = *this + b; }
  Vec& operator-=(Vec b) { return *this = *this - b; }
  Vec& operator*=(Vec b) { return *this = *this * b; }
  friend Mask operator<(Vec a, Vec b) { return {reinterpret_cast<RawI>(a.v < b.v)}; }
  friend Mask operator>(Vec a, Vec b) { return {reinterpret_cast<RawI>(a.v > b.v)}; }
  friend Mask operator<=(Vec a, Vec b) { return {reinterpret_cast<RawI>(a.v <= b.v)}; }
  friend Mask operator>=(Vec a, Vec b) { return {reinterpret_cast<RawI>(a.v >= b.v)}; }
  friend Mask operator==(Vec a, Vec b) { return {reinterpret_cast<RawI>(a.v == b.v)}; }
};

static inline Vec load(const float* p) {
  Vec x;
  std::memcpy(&x.v, p, sizeof(x.v));
  return x;
}
static inline void store(float* p, Vec x) { std::memcpy(p, &x.v, sizeof(x.v)); }
/// The first n < lanes elements; the rest is zero.
static inline Vec load_first(const float* p, int64_t n) {
  Vec x(0.0f);
  std::memcpy(&x.v, p, static_cast<size_t>(n) * sizeof(float));
  return x;
}
static inline void store_first(float* p, Vec x, int64_t n) { std::memcpy(p, &x.v, static_cast<size_t>(n) * sizeof(float)); }

static inline Vec select(Mask mask, Vec a, Vec b) {
  return reinterpret_cast<RawF>((mask.v & reinterpret_cast<RawI>(a.v)) | (~mask.v & reinterpret_cast<RawI>(b.v)));
}

/// a·b + c; rounded once where the level has FMA.
static inline Vec fma(Vec a, Vec b, Vec c) {
#if defined(__AVX512F__)
  return Vec(reinterpret_cast<RawF>(_mm512_fmadd_ps((__m512)a.v, (__m512)b.v, (__m512)c.v)));
#elif defined(__AVX2__)
  return Vec(reinterpret_cast<RawF>(_mm256_fmadd_ps((__m256)a.v, (__m256)b.v, (__m256)c.v)));
#else
  return a * b + c;
#endif
}

/// As std::max: the second operand where they compare unordered.
static inline Vec maximum(Vec a, Vec b) { return select(a > b, a, b); }
static inline Vec minimum(Vec a, Vec b) { return select(a < b, a, b); }
static inline Vec abs(Vec x) { return reinterpret_cast<RawF>(reinterpret_cast<RawI>(x.v) & 0x7fffffff); }
static inline Vec copysign(Vec magnitude, Vec sign) {
  const RawI bit = RawI{} + INT32_MIN;
  return reinterpret_cast<RawF>((reinterpret_cast<RawI>(magnitude.v) & ~bit) | (reinterpret_cast<RawI>(sign.v) & bit));
}
static inline Vec sqrt(Vec x) {
#if defined(__AVX512F__)
  return Vec(reinterpret_cast<RawF>(_mm512_maskz_sqrt_ps(static_cast<__mmask16>(-1), (__m512)x.v)));
#elif defined(__AVX2__)
  return Vec(reinterpret_cast<RawF>(_mm256_sqrt_ps((__m256)x.v)));
#else
  for (int i = 0; i < lanes; ++i) x.v[i] = __builtin_sqrtf(x.v[i]);
  return x;
#endif
}

/// Lanes added in a fixed tree: halves, quarters, …
static inline float sum(Vec x) {
  float part[lanes];
  store(part, x);
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) part[i] += part[i + half];
  return part[0];
}
static inline float maximum_of(Vec x) {
  float part[lanes];
  store(part, x);
  for (int i = 1; i < lanes; ++i) part[0] = part[i] > part[0] ? part[i] : part[0];
  return part[0];
}

namespace detail {
static inline Vec as_float(RawI x) { return reinterpret_cast<RawF>(x); }
static inline RawI as_int(Vec x) { return reinterpret_cast<RawI>(x.v); }
/// Nearest integer of |x| < 2^22, as float and (in the low bits) as int: the sum with 1.5·2^23 leaves no fraction.
static inline Vec round_near(Vec x) {
  const Vec magic(12582912.0f);
  return (x + magic) - magic;
}
static inline RawI to_int(Vec x) { return as_int(x + Vec(12582912.0f)) - 0x4b400000; }
}  // namespace detail

/// e^x within 1 ulp or so: x = n·ln 2 + r, a degree-6 polynomial in r, scaled by 2^n in two steps so that the smallest
/// normal results are right. Below -103.97 it gives 0, above 88.73 infinity; NaN stays NaN.
static inline Vec exp(Vec x) {
  const Vec clamped = minimum(maximum(x, Vec(-104.0f)), Vec(89.0f));
  const Vec n = detail::round_near(clamped * Vec(1.44269504f));
  Vec r = fma(n, Vec(-0.693145751953125f), clamped);
  r = fma(n, Vec(-1.42860682030941723e-6f), r);
  Vec p(1.388889e-3f);
  p = fma(p, r, Vec(8.3333310e-3f));
  p = fma(p, r, Vec(4.1666657e-2f));
  p = fma(p, r, Vec(1.6666667e-1f));
  p = fma(p, r, Vec(0.5f));
  p = fma(p, r, Vec(1.0f));
  p = fma(p, r, Vec(1.0f));
  const RawI exponent = detail::to_int(n), half = exponent >> 1;
  const Vec y = p * detail::as_float((half + 127) << 23) * detail::as_float((exponent - half + 127) << 23);
  return select(x == x, y, x);
}

/// Natural logarithm within 2 ulp: x = 2^n·m with m in [√½, √2), atanh series in (m-1)/(m+1). log 0 = -inf, log of a
/// negative is NaN.
static inline Vec log(Vec x) {
  const Mask tiny = x < Vec(1.17549435e-38f);
  const Vec scaled = select(tiny, x * Vec(8388608.0f), x);
  const RawI bits = detail::as_int(scaled);
  const RawI shifted = bits - 0x3f3504f3;
  RawI n = shifted >> 23;
  const Vec m = detail::as_float((shifted & 0x7fffff) + 0x3f3504f3);
  n = n - (tiny.v & 23);
  const Vec e = __builtin_convertvector(n, RawF);
  const Vec s = (m - Vec(1.0f)) / (m + Vec(1.0f)), z = s * s;
  Vec p(0.24279078f);
  p = fma(p, z, Vec(0.28498786f));
  p = fma(p, z, Vec(0.40000972f));
  p = fma(p, z, Vec(0.66666662f));
  const Vec tail = fma(s * z, p, e * Vec(1.42860682030941723e-6f));
  Vec y = fma(e, Vec(0.693145751953125f), fma(s, Vec(2.0f), tail));
  y = select(x == Vec(__builtin_inff()), x, y);
  y = select(x == Vec(0.0f), Vec(-__builtin_inff()), y);
  y = select(x < Vec(0.0f), Vec(__builtin_nanf("")), y);
  return select(x == x, y, x);
}

/// Within 2 ulp: an odd polynomial below 0.625, else 1 - 2/(e^{2|x|} + 1).
static inline Vec tanh(Vec x) {
  const Vec a = abs(x), z = x * x;
  Vec p(-5.70498872745e-3f);
  p = fma(p, z, Vec(2.06390887954e-2f));
  p = fma(p, z, Vec(-5.37397155531e-2f));
  p = fma(p, z, Vec(1.33314422036e-1f));
  p = fma(p, z, Vec(-3.33332819422e-1f));
  const Vec small = fma(p * z, x, x);
  const Vec large = copysign(Vec(1.0f) - Vec(2.0f) / (exp(a + a) + Vec(1.0f)), x);
  return select(a < Vec(0.625f), small, large);
}

/// Error function to 1e-7 absolute: below 1 its odd Taylor-like polynomial, above 1 - t·P(t)·e^{-x²} with t = 1/(1 + x/2)
/// (Numerical Recipes' Chebyshev fit of erfc, relative error 1.2e-7).
static inline Vec erf(Vec x) {
  const Vec a = abs(x), z = x * x;
  Vec p(7.853861353153693e-5f);
  p = fma(p, z, Vec(-8.010193625184903e-4f));
  p = fma(p, z, Vec(5.188327685732524e-3f));
  p = fma(p, z, Vec(-2.685381193529856e-2f));
  p = fma(p, z, Vec(1.128358514861418e-1f));
  p = fma(p, z, Vec(-3.761262582423300e-1f));
  p = fma(p, z, Vec(1.128379165726710e+0f));
  const Vec small = p * x;
  const Vec t = Vec(1.0f) / fma(a, Vec(0.5f), Vec(1.0f));
  Vec q(0.17087277f);
  q = fma(q, t, Vec(-0.82215223f));
  q = fma(q, t, Vec(1.48851587f));
  q = fma(q, t, Vec(-1.13520398f));
  q = fma(q, t, Vec(0.27886807f));
  q = fma(q, t, Vec(-0.18628806f));
  q = fma(q, t, Vec(0.09678418f));
  q = fma(q, t, Vec(0.37409196f));
  q = fma(q, t, Vec(1.00002368f));
  q = fma(q, t, Vec(-1.26551223f));
  const Vec large = copysign(Vec(1.0f) - t * exp(q - z), x);
  return select(a < Vec(1.0f), small, select(x == x, large, x));
}

}  // namespace headroom::engine::HEADROOM_ISA
