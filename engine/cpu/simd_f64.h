#pragma once
// The f64 twin of simd.h's Vec, with the functions linear algebra needs, and names for both by scalar type. The same
// rules apply: only for files compiled once per instruction set.
#include "engine/cpu/simd.h"

namespace headroom::engine::HEADROOM_ISA {

typedef double RawD __attribute__((vector_size(lanes * 4)));

/// `lanes / 2` doubles.
struct VecD {
  RawD v;
  VecD() = default;
  VecD(RawD raw) : v(raw) {}
  VecD(double x) : v(x - RawD{}) {}

  friend VecD operator+(VecD a, VecD b) { return a.v + b.v; }
  friend VecD operator-(VecD a, VecD b) { return a.v - b.v; }
  friend VecD operator*(VecD a, VecD b) { return a.v * b.v; }
  friend VecD operator/(VecD a, VecD b) { return a.v / b.v; }
  VecD& operator+=(VecD b) { return *this = *this + b; }
};

template <class T>
struct VecName;
template <>
struct VecName<float> {
  using type = Vec;
};
template <>
struct VecName<double> {
  using type = VecD;
};
/// The vector type of a scalar, and how many it holds.
template <class T>
using VecOf = typename VecName<T>::type;
template <class T>
inline constexpr int lanes_of = static_cast<int>(lanes * 4 / sizeof(T));

static inline VecD load(const double* p) {
  VecD x;
  std::memcpy(&x.v, p, sizeof(x.v));
  return x;
}
static inline void store(double* p, VecD x) { std::memcpy(p, &x.v, sizeof(x.v)); }
// A masked load, not memcpy: columns of a factorisation have every length, and a call for each end costs more than the
// vector before it.
#if defined(__AVX2__) && !defined(__AVX512F__)
static inline __m256i mask_of_first(int64_t n) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}
#endif
/// Loads the first n < lanes_of<double> elements and zeros.
static inline VecD load_first(const double* p, int64_t n) {
#if defined(__AVX512F__)
  return VecD(reinterpret_cast<RawD>(_mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1), p)));
#elif defined(__AVX2__)
  return VecD(reinterpret_cast<RawD>(_mm256_maskload_pd(p, mask_of_first(n))));
#else
  VecD x(0.0);
  std::memcpy(&x.v, p, static_cast<size_t>(n) * sizeof(double));
  return x;
#endif
}
static inline VecD load_first_or_all(const double* p, int64_t n) {
  return n == lanes_of<double> ? load(p) : load_first(p, n);
}
static inline void store_first(double* p, VecD x, int64_t n) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << n) - 1), (__m512d)x.v);
#elif defined(__AVX2__)
  _mm256_maskstore_pd(p, mask_of_first(n), (__m256d)x.v);
#else
  std::memcpy(p, &x.v, static_cast<size_t>(n) * sizeof(double));
#endif
}

/// a·b + c; rounded once if the level has FMA.
static inline VecD fma(VecD a, VecD b, VecD c) {
#if defined(__AVX512F__)
  return VecD(reinterpret_cast<RawD>(_mm512_fmadd_pd((__m512d)a.v, (__m512d)b.v, (__m512d)c.v)));
#elif defined(__AVX2__)
  return VecD(reinterpret_cast<RawD>(_mm256_fmadd_pd((__m256d)a.v, (__m256d)b.v, (__m256d)c.v)));
#else
  return a * b + c;
#endif
}

/// Lanes added in a fixed tree: halves, quarters, …
static inline double sum(VecD x) {
  double part[lanes / 2];
  store(part, x);
  for (int half = lanes / 4; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) part[i] += part[i + half];
  return part[0];
}

}  // namespace headroom::engine::HEADROOM_ISA
