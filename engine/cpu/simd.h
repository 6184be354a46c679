#pragma once
// One f32 vector type and the functions kernels need, written once for every instruction set. Only files that are
// compiled once per level, with HEADROOM_ISA set to `portable`, `avx2` or `avx512`, may include it. Everything is in
// that namespace, so no two levels share a symbol.
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
/// Loads the first n < lanes elements and zeros.
static inline Vec load_first(const float* p, int64_t n) {
  Vec x(0.0f);
  std::memcpy(&x.v, p, static_cast<size_t>(n) * sizeof(float));
  return x;
}
static inline void store_first(float* p, Vec x, int64_t n) {
  std::memcpy(p, &x.v, static_cast<size_t>(n) * sizeof(float));
}

static inline Vec select(Mask mask, Vec a, Vec b) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  return Vec(reinterpret_cast<RawF>(_mm256_blendv_ps((__m256)b.v, (__m256)a.v, (__m256)mask.v)));
#else
  return reinterpret_cast<RawF>((mask.v & reinterpret_cast<RawI>(a.v)) | (~mask.v & reinterpret_cast<RawI>(b.v)));
#endif
}

/// True if a condition holds in any lane: for a function's rare path.
static inline bool any(Mask mask) {
#if defined(__AVX512F__)
  return _mm512_movepi32_mask((__m512i)mask.v) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_ps((__m256)mask.v) != 0;
#else
  typedef int64_t RawL __attribute__((vector_size(16)));
  const auto halves = reinterpret_cast<RawL>(mask.v);
  return (halves[0] | halves[1]) != 0;
#endif
}

/// a·b + c; rounded once if the level has FMA.
static inline Vec fma(Vec a, Vec b, Vec c) {
#if defined(__AVX512F__)
  return Vec(reinterpret_cast<RawF>(_mm512_fmadd_ps((__m512)a.v, (__m512)b.v, (__m512)c.v)));
#elif defined(__AVX2__)
  return Vec(reinterpret_cast<RawF>(_mm256_fmadd_ps((__m256)a.v, (__m256)b.v, (__m256)c.v)));
#else
  return a * b + c;
#endif
}

/// a > b ? a : b, so the second operand if either is NaN, like the instruction.
static inline Vec maximum(Vec a, Vec b) {
#if defined(__AVX512F__)
  return Vec(reinterpret_cast<RawF>(_mm512_maskz_max_ps(static_cast<__mmask16>(-1), (__m512)a.v, (__m512)b.v)));
#elif defined(__AVX2__)
  return Vec(reinterpret_cast<RawF>(_mm256_max_ps((__m256)a.v, (__m256)b.v)));
#else
  return select(a > b, a, b);
#endif
}
static inline Vec minimum(Vec a, Vec b) {
#if defined(__AVX512F__)
  return Vec(reinterpret_cast<RawF>(_mm512_maskz_min_ps(static_cast<__mmask16>(-1), (__m512)a.v, (__m512)b.v)));
#elif defined(__AVX2__)
  return Vec(reinterpret_cast<RawF>(_mm256_min_ps((__m256)a.v, (__m256)b.v)));
#else
  return select(a < b, a, b);
#endif
}
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
/// Rounds |x| < 2^22 to the nearest integer, as float and (in the low bits) as int, by adding 1.5·2^23.
static inline Vec round_near(Vec x) {
  const Vec magic(12582912.0f);
  return (x + magic) - magic;
}
static inline RawI to_int(Vec x) { return as_int(x + Vec(12582912.0f)) - 0x4b400000; }
}  // namespace detail

/// The rounding error a·b - p, exactly, of p = a·b rounded. |a| and |b| below 2^100, the result normal.
static inline Vec residual(Vec a, Vec b, Vec p) {
#ifdef __AVX2__
  return fma(a, b, -p);
#else
  // Dekker (1971): halves of 12 bits, whose products are exact.
  const Vec split(4097.0f), ta = split * a, tb = split * b;
  const Vec ah = ta - (ta - a), bh = tb - (tb - b), al = a - ah, bl = b - bh;
  return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
#endif
}

/// e^x as a polynomial p in [0.7, 1.42] and two powers of two, so that a factor can be multiplied in before the result
/// becomes subnormal and is rounded, once. Loses a NaN.
struct ScaledExp {
  Vec p, half, rest;
  Vec value() const { return p * half * rest; }
  /// c·e^x.
  Vec times(Vec c) const { return c * p * half * rest; }
};
/// x = n·ln 2 + r, a degree-6 polynomial in r. Below -150 gives e^-150, which is 0 with any factor up to 10^19; above
/// 89 infinity.
static inline ScaledExp scaled_exp(Vec x) {
  const Vec clamped = minimum(maximum(x, Vec(-150.0f)), Vec(89.0f));
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
  return {p, detail::as_float((half + 127) << 23), detail::as_float((exponent - half + 127) << 23)};
}

/// e^x within 3 ulp, also for subnormal results. Below -103.97 it gives 0, above 88.73 infinity; NaN stays NaN.
static inline Vec exp(Vec x) { return select(x == x, scaled_exp(x).value(), x); }
/// c·e^x for |c| < 10^19, rounded into the subnormal range once; NaN stays NaN.
static inline Vec times_exp(Vec c, Vec x) { return select(x == x, scaled_exp(x).times(c), x); }

/// Natural logarithm within 2 ulp: x = 2^n·m with m in [√½, √2), atanh series in (m-1)/(m+1). log 0 = -inf, log of a
/// negative is NaN.
static inline Vec log(Vec x) {
  const Mask tiny = x < Vec(1.17549435e-38f);
  const Vec scaled = select(tiny, x * Vec(8388608.0f), x);
  const RawI bits = detail::as_int(abs(scaled));  // the next line would overflow for a negative, whose NaN comes below
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

/// ln(1 + x) within 4 ulp, by Kahan's quotient: the rounding of 1 + x cancels.
static inline Vec log1p(Vec x) {
  const Vec u = x + Vec(1.0f), d = u - Vec(1.0f);
  return select((d == Vec(0.0f)) | (x == Vec(__builtin_inff())), x, log(u) * (x / d));
}

/// e^x - 1 within 3 ulp: e^r - 1 as a polynomial, times 2^n, plus 2^n - 1.
static inline Vec expm1(Vec x) {
  const Mask is_near = abs(x) < Vec(17.0f);
  const Vec near = select(is_near, x, Vec(0.0f));  // no other fits an int below
  const Vec n = detail::round_near(near * Vec(1.44269504f));
  const Vec r = fma(n, Vec(-1.42860682030941723e-6f), fma(n, Vec(-0.693145751953125f), near));
  Vec p(1.984127e-4f);
  p = fma(p, r, Vec(1.388889e-3f));
  p = fma(p, r, Vec(8.3333333e-3f));
  p = fma(p, r, Vec(4.1666667e-2f));
  p = fma(p, r, Vec(1.6666667e-1f));
  p = fma(p, r, Vec(0.5f));
  const Vec q = fma(r * r, p, r), power = detail::as_float((detail::to_int(n) + 127) << 23);
  return select(is_near, fma(power, q, power - Vec(1.0f)), exp(x) - Vec(1.0f));
}

/// sin(x + quarters · π/2) within 1 ulp, also next to its zeros: in f64, where a multiple of π/2 below 2^20 is exact to
/// 2^-67; further out by the C library.
static inline Vec sine(Vec x, int quarters) {
  typedef double Wide __attribute__((vector_size(lanes * 8)));
  typedef int64_t Bits __attribute__((vector_size(lanes * 8)));
  const Wide wide = __builtin_convertvector(x.v, Wide), shifted = wide * 0.63661977236758134308 + 0x1.8p52;
  const Wide n = shifted - 0x1.8p52, r = (wide - n * 0x1.921fb544p0) - n * 0x1.0b4611a626331p-34, z = r * r;
  const Wide odd = r * (1 + z * (-1 / 6.0 + z * (1 / 120.0 + z * (-1 / 5040.0 + z * (1 / 362880.0)))));
  const Wide even = 1 + z * (-0.5 + z * (1 / 24.0 + z * (-1 / 720.0 + z * (1 / 40320.0 - z * (1 / 3628800.0)))));
  const Bits quadrant = reinterpret_cast<Bits>(shifted) + quarters, is_even = -(quadrant & 1);
  const Bits bits = (is_even & reinterpret_cast<Bits>(even)) | (~is_even & reinterpret_cast<Bits>(odd));
  Vec y = __builtin_convertvector(reinterpret_cast<Wide>(bits ^ ((quadrant & 2) << 62)), RawF);
  const Mask is_far = abs(x) >= Vec(0x1p20f);
  if (any(is_far))
    for (int i = 0; i < lanes; ++i) {
      const double at = static_cast<double>(x.v[i]);
      if (is_far.v[i]) y.v[i] = static_cast<float>(quarters == 0 ? __builtin_sin(at) : __builtin_cos(at));
    }
  return y;
}
static inline Vec sin(Vec x) { return sine(x, 0); }
static inline Vec cos(Vec x) { return sine(x, 1); }

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

}  // namespace headroom::engine::HEADROOM_ISA
