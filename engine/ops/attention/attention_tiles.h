#pragma once
// Building blocks of attention's tiles: scratch memory, small products, sums, transposes and the exponential. For
// kernel files only.
#include "engine/cpu/simd_bf16.h"

namespace headroom::engine::HEADROOM_ISA {

static constexpr float log2_e = 1.44269504f, ln_2 = 0.693147181f;

static inline int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }
static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/// Hands out 64-byte aligned pieces of the scratch memory; without any, only counts.
struct Scratch {
  float* memory;
  int64_t used = 0;
  float* take(int64_t n) {
    float* piece = memory ? memory + used : nullptr;
    used += round_up(n, 16);
    return piece;
  }
};

/// 2^x within 2 ulp for x ≤ 1: 0 below -125 (negligible as a probability), NaN stays NaN. Cheaper than exp: no product
/// with log2 e (the scores include it) and a single scaling, x = n + f with f in [-½, ½], a polynomial of degree 5 in
/// f.
static inline Vec exp2(Vec x) {
  const Vec magic(12582912.0f), shifted = x + magic, f = x - (shifted - magic);
  Vec p(1.326472731e-3f);
  p = fma(p, f, Vec(9.671512991e-3f));
  p = fma(p, f, Vec(5.550733581e-2f));
  p = fma(p, f, Vec(2.402224243e-1f));
  p = fma(p, f, Vec(6.931470037e-1f));
  p = fma(p, f, Vec(1.0f));
  // Unsigned: lanes that the mask zeroes may overflow.
  const RawU scaled = reinterpret_cast<RawU>(p.v) + (reinterpret_cast<RawU>(shifted.v) << 23);
  return reinterpret_cast<RawF>(~reinterpret_cast<RawU>((x < Vec(-125.0f)).v) & scaled);
}

/// first, first + 1, … along the lanes; exact below 2^24.
static inline Vec index_from(int64_t first) {
  Vec steps;
  for (int i = 0; i < lanes; ++i) steps.v[i] = static_cast<float>(i);
  return Vec(static_cast<float>(first)) + steps;
}

typedef float Four __attribute__((vector_size(16)));

static inline Four load_four(const float* p) {
  Four x;
  std::memcpy(&x, p, sizeof(x));
  return x;
}
static inline void store_four(float* p, Four x) { std::memcpy(p, &x, sizeof(x)); }

/// Rows to columns.
static inline void transpose(Four (&x)[4]) {
  const Four a = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5), b = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
  const Four c = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7), d = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
  x[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  x[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  x[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
  x[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

/// out[c][r] = factor · x[r][c].
static inline void transpose_to(const float* x, int64_t x_stride, int64_t rows, int64_t columns, float factor,
                                float* out, int64_t out_stride) {
  const int64_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
  for (int64_t r = 0; r < whole_rows; r += 4)
    for (int64_t c = 0; c < whole_columns; c += 4) {
      Four block[4];
      for (int i = 0; i < 4; ++i) block[i] = load_four(x + (r + i) * x_stride + c);
      transpose(block);
      for (int i = 0; i < 4; ++i) store_four(out + (c + i) * out_stride + r, block[i] * factor);
    }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c)
      out[c * out_stride + r] = factor * x[r * x_stride + c];
}

template <int C>
static inline void copy_columns(const float* x, int64_t x_stride, int64_t rows, int64_t columns, float factor,
                                float* out, int64_t out_stride) {
  for (int64_t r = 0; r < rows; ++r, x += x_stride, out += out_stride) {
    const int64_t end = C > 0 ? C : columns;
    int64_t c = 0;
    for (; c + 4 <= end; c += 4) store_four(out + c, load_four(x + c) * factor);
    for (; c < end; ++c) out[c] = factor * x[c];
  }
}

/// out[r][c] = factor · x[r][c].
static inline void copy_to(const float* x, int64_t x_stride, int64_t rows, int64_t columns, float factor, float* out,
                           int64_t out_stride) {
  if (columns == 4) return copy_columns<4>(x, x_stride, rows, columns, factor, out, out_stride);
  if (columns == 8) return copy_columns<8>(x, x_stride, rows, columns, factor, out, out_stride);
  copy_columns<0>(x, x_stride, rows, columns, factor, out, out_stride);
}

static inline void fill_zero(float* x, int64_t n) { std::memset(x, 0, static_cast<size_t>(n) * sizeof(float)); }

/// A product's elements: f32, or bf16 pairs along the sum, by dot_pairs().
static inline Vec load_factors(const float* p) { return load(p); }
static inline Pairs load_factors(const uint32_t* p) { return load_pairs(p); }
static inline Vec broadcast(float x) { return Vec(x); }
static inline Pairs broadcast(uint32_t x) { return {RawU{} + x}; }
static inline Vec multiply_add(Vec a, Vec b, Vec sum) { return fma(a, b, sum); }
static inline Vec multiply_add(Pairs a, Pairs b, Vec sum) { return dot_pairs(sum, a, b); }
template <class E>
using Factors = decltype(load_factors(static_cast<const E*>(nullptr)));

/// out[r][w] (+)= Σ_d a[r][d]·b[d][w] for M rows and N vectors of w. D > 0: the depth, known at compile time. E: float,
/// or uint32_t for pairs.
template <int M, int N, int D, bool add, class E>
static inline void product_block(const E* a, int64_t a_stride, int64_t depth, const E* b, int64_t b_stride, float* out,
                                 int64_t out_stride) {
  Vec sum[M][N];
  for (int r = 0; r < M; ++r)
    for (int n = 0; n < N; ++n) sum[r][n] = add ? load(out + r * out_stride + n * lanes) : Vec(0.0f);
  const int64_t end = D > 0 ? D : depth;
  for (int64_t d = 0; d < end; ++d) {
    Factors<E> column[N];
    for (int n = 0; n < N; ++n) column[n] = load_factors(b + d * b_stride + n * lanes);
    for (int r = 0; r < M; ++r) {
      const Factors<E> x = broadcast(a[r * a_stride + d]);
      for (int n = 0; n < N; ++n) sum[r][n] = multiply_add(x, column[n], sum[r][n]);
    }
  }
  for (int r = 0; r < M; ++r)
    for (int n = 0; n < N; ++n) store(out + r * out_stride + n * lanes, sum[r][n]);
}

/// The same for all rows, a multiple of 4: six at a time, to hide the latency of 12 sums, then four or two.
template <int N, int D, bool add, class E>
static inline void product_column(const E* a, int64_t a_stride, int64_t rows, int64_t depth, const E* b,
                                  int64_t b_stride, float* out, int64_t out_stride) {
  int64_t r = 0;
  for (; r + 6 <= rows && r + 8 != rows; r += 6)
    product_block<6, N, D, add>(a + r * a_stride, a_stride, depth, b, b_stride, out + r * out_stride, out_stride);
  for (; r + 4 <= rows; r += 4)
    product_block<4, N, D, add>(a + r * a_stride, a_stride, depth, b, b_stride, out + r * out_stride, out_stride);
  if (r < rows)
    product_block<2, N, D, add>(a + r * a_stride, a_stride, depth, b, b_stride, out + r * out_stride, out_stride);
}

/// Depth D ≤ 4: the columns of b stay in registers.
template <int D>
static inline void narrow_product(const float* a, int64_t rows, const float* b, int64_t b_stride, int64_t width,
                                  float* out, int64_t out_stride) {
  for (int64_t w = 0; w < width; w += 2 * lanes) {
    Vec column[D][2];
    for (int d = 0; d < D; ++d)
      for (int n = 0; n < 2; ++n) column[d][n] = load(b + d * b_stride + w + n * lanes);
    for (int64_t r = 0; r < rows; ++r) {
      Vec first(a[r * D]), x = first, y = first;
      x *= column[0][0];
      y *= column[0][1];
      for (int d = 1; d < D; ++d) {
        const Vec factor(a[r * D + d]);
        x = fma(factor, column[d][0], x);
        y = fma(factor, column[d][1], y);
      }
      store(out + r * out_stride + w, x);
      store(out + r * out_stride + w + lanes, y);
    }
  }
}

template <int D>
static void wide_product(const float* a, int64_t rows, int64_t depth, const float* b, int64_t b_stride, int64_t width,
                         float* out, int64_t out_stride) {
  for (int64_t w = 0; w < width; w += 2 * lanes)
    product_column<2, D, false>(a, depth, rows, depth, b + w, b_stride, out + w, out_stride);
}

/// out[r][w] = Σ_d a[r][d]·b[d][w], d < depth; rows a multiple of 4, width of 2 · lanes.
static inline void product(const float* a, int64_t rows, int64_t depth, const float* b, int64_t b_stride, int64_t width,
                           float* out, int64_t out_stride) {
  switch (depth) {
    case 1:
      return narrow_product<1>(a, rows, b, b_stride, width, out, out_stride);
    case 2:
      return narrow_product<2>(a, rows, b, b_stride, width, out, out_stride);
    case 4:
      return narrow_product<4>(a, rows, b, b_stride, width, out, out_stride);
    case 8:
      return wide_product<8>(a, rows, depth, b, b_stride, width, out, out_stride);
    default:
      return wide_product<0>(a, rows, depth, b, b_stride, width, out, out_stride);
  }
}

/// out[r][w] += Σ_d a[r][d]·b[d][w] where b's rows and out's are `width` apart, a multiple of lanes.
template <class E>
static void add_product(const E* a, int64_t a_stride, int64_t rows, int64_t depth, const E* b, int64_t width,
                        float* out) {
  int64_t w = 0;
  for (; w + 2 * lanes <= width; w += 2 * lanes)
    product_column<2, 0, true>(a, a_stride, rows, depth, b + w, width, out + w, width);
  if (w == width) return;
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8)
    product_block<8, 1, 0, true>(a + r * a_stride, a_stride, depth, b + w, width, out + r * width + w, width);
  if (r < rows)
    product_block<4, 1, 0, true>(a + r * a_stride, a_stride, depth, b + w, width, out + r * width + w, width);
}

/// out[d][w] += Σ_r a[r][d]·t[r][w] for M values of d and two vectors of w.
template <int M, class E>
static inline void transposed_block(const E* a, int64_t a_stride, int64_t rows, const E* t, int64_t t_stride,
                                    float* out, int64_t out_stride) {
  Vec sum[M][2];
  for (int d = 0; d < M; ++d)
    for (int n = 0; n < 2; ++n) sum[d][n] = load(out + d * out_stride + n * lanes);
  for (int64_t r = 0; r < rows; ++r) {
    const Factors<E> t0 = load_factors(t + r * t_stride), t1 = load_factors(t + r * t_stride + lanes);
    for (int d = 0; d < M; ++d) {
      const Factors<E> x = broadcast(a[r * a_stride + d]);
      sum[d][0] = multiply_add(x, t0, sum[d][0]);
      sum[d][1] = multiply_add(x, t1, sum[d][1]);
    }
  }
  for (int d = 0; d < M; ++d)
    for (int n = 0; n < 2; ++n) store(out + d * out_stride + n * lanes, sum[d][n]);
}

/// out[d][w] += Σ_r a[r][d]·t[r][w], d < depth: 1, 2 or a multiple of 4.
template <class E>
static void add_transposed(const E* a, int64_t rows, int64_t depth, const E* t, int64_t t_stride, int64_t width,
                           float* out, int64_t out_stride) {
  for (int64_t w = 0; w < width; w += 2 * lanes) {
    int64_t d = 0;
    for (; d + 6 <= depth && d + 8 != depth; d += 6)
      transposed_block<6>(a + d, depth, rows, t + w, t_stride, out + d * out_stride + w, out_stride);
    for (; d + 4 <= depth; d += 4)
      transposed_block<4>(a + d, depth, rows, t + w, t_stride, out + d * out_stride + w, out_stride);
    for (; d + 2 <= depth; d += 2)
      transposed_block<2>(a + d, depth, rows, t + w, t_stride, out + d * out_stride + w, out_stride);
    if (d < depth) transposed_block<1>(a + d, depth, rows, t + w, t_stride, out + d * out_stride + w, out_stride);
  }
}

/// The sums of four vectors' lanes.
static inline Four sums_of(const Vec* x, int count) {
  Four parts[4] = {};
  for (int i = 0; i < count; ++i) {
    Four pieces[lanes / 4];
    std::memcpy(pieces, &x[i].v, sizeof(pieces));
    parts[i] = pieces[0];
    for (int n = 1; n < lanes / 4; ++n) parts[i] += pieces[n];
  }
  transpose(parts);
  return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

/// out[r][d] += Σ_w t[r][w]·b[d][w], d < D ≤ 4: sums along the lanes, for widths too narrow to fill a vector.
template <int D>
static inline void add_row_sums(const float* t, int64_t t_stride, int64_t rows, const float* b, int64_t b_stride,
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
    const Four sum0 = sums_of(first, D), sum1 = sums_of(second, D);
    for (int d = 0; d < D; ++d) {
      out[r * D + d] += sum0[d];
      out[(r + 1) * D + d] += sum1[d];
    }
  }
}

}  // namespace headroom::engine::HEADROOM_ISA
