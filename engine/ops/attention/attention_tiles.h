#pragma once
// The small dense products, the exponential and the random bits that attention's tiles are made of. For kernel files
// only.
#include "engine/cpu/simd.h"

namespace headroom::engine::HEADROOM_ISA {

/// 2^x within 2 ulp for x ≤ 1: 0 below -125 (a probability there is nothing), NaN stays NaN. Cheaper than exp: no
/// product with log2 e (the scores carry it) and one scaling, x = n + f with f in [-½, ½], a polynomial of degree 5 in
/// f.
static inline Vec exp2(Vec x) {
  const Vec magic(12582912.0f), shifted = x + magic, f = x - (shifted - magic);
  Vec p(1.326472731e-3f);
  p = fma(p, f, Vec(9.671512991e-3f));
  p = fma(p, f, Vec(5.550733581e-2f));
  p = fma(p, f, Vec(2.402224243e-1f));
  p = fma(p, f, Vec(6.931470037e-1f));
  p = fma(p, f, Vec(1.0f));
  const RawI scaled = reinterpret_cast<RawI>(p.v) + (reinterpret_cast<RawI>(shifted.v) << 23);
  return reinterpret_cast<RawF>(~(x < Vec(-125.0f)).v & scaled);
}

/// out[r][w] (+)= Σ_d a[r][d]·b[d][w] for M rows and N vectors of w. D > 0: the depth, known at compile time.
template <int M, int N, int D, bool add>
static inline void product_block(const float* a, int64_t a_stride, int64_t depth, const float* b, int64_t b_stride,
                                 float* out, int64_t out_stride) {
  Vec sum[M][N];
  for (int r = 0; r < M; ++r)
    for (int n = 0; n < N; ++n) sum[r][n] = add ? load(out + r * out_stride + n * lanes) : Vec(0.0f);
  const int64_t end = D > 0 ? D : depth;
  for (int64_t d = 0; d < end; ++d) {
    Vec column[N];
    for (int n = 0; n < N; ++n) column[n] = load(b + d * b_stride + n * lanes);
    for (int r = 0; r < M; ++r) {
      const Vec x(a[r * a_stride + d]);
      for (int n = 0; n < N; ++n) sum[r][n] = fma(x, column[n], sum[r][n]);
    }
  }
  for (int r = 0; r < M; ++r)
    for (int n = 0; n < N; ++n) store(out + r * out_stride + n * lanes, sum[r][n]);
}

/// out = a·b for `rows` (a multiple of 4) and `width` (a multiple of 2 · lanes, or with `add` of lanes).
template <int D, bool add>
static void product_of(const float* a, int64_t a_stride, int64_t rows, int64_t depth, const float* b, int64_t b_stride,
                       int64_t width, float* out, int64_t out_stride) {
  constexpr int M = D > 0 && D <= 4 ? 2 : 4;
  int64_t w = 0;
  for (; w + 2 * lanes <= width; w += 2 * lanes)
    for (int64_t r = 0; r < rows; r += M)
      product_block<M, 2, D, add>(a + r * a_stride, a_stride, depth, b + w, b_stride, out + r * out_stride + w,
                                  out_stride);
  if (w < width)
    for (int64_t r = 0; r < rows; r += M)
      product_block<M, 1, D, add>(a + r * a_stride, a_stride, depth, b + w, b_stride, out + r * out_stride + w,
                                  out_stride);
}

/// out[r][w] = Σ_d a[r][d]·b[d][w], d < depth.
static inline void product(const float* a, int64_t rows, int64_t depth, const float* b, int64_t b_stride, int64_t width,
                           float* out, int64_t out_stride) {
  switch (depth) {
    case 1:
      return product_of<1, false>(a, depth, rows, depth, b, b_stride, width, out, out_stride);
    case 2:
      return product_of<2, false>(a, depth, rows, depth, b, b_stride, width, out, out_stride);
    case 4:
      return product_of<4, false>(a, depth, rows, depth, b, b_stride, width, out, out_stride);
    case 8:
      return product_of<8, false>(a, depth, rows, depth, b, b_stride, width, out, out_stride);
    default:
      return product_of<0, false>(a, depth, rows, depth, b, b_stride, width, out, out_stride);
  }
}

/// out[d][w] += Σ_r a[r][d]·t[r][w] for M values of d and two vectors of w.
template <int M>
static inline void transposed_block(const float* a, int64_t a_stride, int64_t rows, const float* t, int64_t t_stride,
                                    float* out, int64_t out_stride) {
  Vec sum[M][2];
  for (int d = 0; d < M; ++d)
    for (int n = 0; n < 2; ++n) sum[d][n] = load(out + d * out_stride + n * lanes);
  for (int64_t r = 0; r < rows; ++r) {
    const Vec t0 = load(t + r * t_stride), t1 = load(t + r * t_stride + lanes);
    for (int d = 0; d < M; ++d) {
      const Vec x(a[r * a_stride + d]);
      sum[d][0] = fma(x, t0, sum[d][0]);
      sum[d][1] = fma(x, t1, sum[d][1]);
    }
  }
  for (int d = 0; d < M; ++d)
    for (int n = 0; n < 2; ++n) store(out + d * out_stride + n * lanes, sum[d][n]);
}

/// out[d][w] += Σ_r a[r][d]·t[r][w], d < depth: 1, 2 or a multiple of 4.
static inline void add_transposed(const float* a, int64_t rows, int64_t depth, const float* t, int64_t t_stride,
                                  int64_t width, float* out, int64_t out_stride) {
  for (int64_t w = 0; w < width; w += 2 * lanes) {
    if (depth == 1) transposed_block<1>(a, depth, rows, t + w, t_stride, out + w, out_stride);
    else if (depth == 2) transposed_block<2>(a, depth, rows, t + w, t_stride, out + w, out_stride);
    else
      for (int64_t d = 0; d < depth; d += 4)
        transposed_block<4>(a + d, depth, rows, t + w, t_stride, out + d * out_stride + w, out_stride);
  }
}

/// out[r][d] += Σ_w t[r][w]·b[d][w], d < D ≤ 4: sums along the lanes, for widths too narrow to fill a vector.
template <int D>
static void add_row_sums_of(const float* t, int64_t t_stride, int64_t rows, const float* b, int64_t b_stride,
                            int64_t width, float* out) {
  for (int64_t r = 0; r < rows; r += 2) {
    Vec first[D], second[D];
    for (int d = 0; d < D; ++d) first[d] = second[d] = Vec(0.0f);
    for (int64_t w = 0; w < width; w += lanes) {
      const Vec t0 = load(t + r * t_stride + w), t1 = load(t + (r + 1) * t_stride + w);
      for (int d = 0; d < D; ++d) {
        const Vec x = load(b + d * b_stride + w);
        first[d] = fma(t0, x, first[d]);
        second[d] = fma(t1, x, second[d]);
      }
    }
    for (int d = 0; d < D; ++d) {
      out[r * D + d] += sum(first[d]);
      out[(r + 1) * D + d] += sum(second[d]);
    }
  }
}

static inline void add_row_sums(const float* t, int64_t t_stride, int64_t rows, const float* b, int64_t b_stride,
                                int64_t depth, int64_t width, float* out) {
  if (depth == 1) add_row_sums_of<1>(t, t_stride, rows, b, b_stride, width, out);
  else if (depth == 2) add_row_sums_of<2>(t, t_stride, rows, b, b_stride, width, out);
  else add_row_sums_of<4>(t, t_stride, rows, b, b_stride, width, out);
}

/// The four words of one Philox4x32-10 block: engine/rng.h.
static inline void philox_block(uint64_t index, uint64_t seed, uint32_t stream, uint32_t* out) {
  uint32_t c0 = static_cast<uint32_t>(index), c1 = static_cast<uint32_t>(index >> 32), c2 = 0, c3 = stream;
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0, p1 = uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/// The random bits of elements [first, first + n): `out` has room for n + 8 and receives them from out[result] on.
static inline int64_t random_words(uint64_t first, int64_t n, uint64_t seed, uint32_t stream, uint32_t* out) {
  const auto skipped = static_cast<int64_t>(first % 4);
  for (int64_t i = 0; i < n + skipped; i += 4)
    philox_block(first / 4 + static_cast<uint64_t>(i / 4), seed, stream, out + i);
  return skipped;
}

}  // namespace headroom::engine::HEADROOM_ISA
