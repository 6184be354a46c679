// Compiled once per instruction set: our own f32 product of one tile, after Goto & van de Geijn, "Anatomy of
// high-performance matrix multiplication" (2008). B is packed into panels of two vectors of columns, which the
// first-level cache holds; a micro-kernel keeps `max_rows` × 2 vectors of C in registers while it runs through a block
// of k.
#include "engine/cpu/gemm_kernel.h"

#include "engine/cpu/simd.h"

namespace headroom::engine::HEADROOM_ISA {

static constexpr int64_t panel = 2 * lanes;
static constexpr int max_rows = lanes == 16 ? 12 : 6;
static_assert(gemm_row_block % max_rows == 0 && gemm_tile_columns % panel == 0);

/// One `rows` × (vectors · lanes) block of C over k steps of a panel of B. A is read in place (rows lda apart), or
/// packed with max_rows values per step. C is overwritten (with bias, when given) by the first block of k, then added
/// to.
struct Micro {
  const float* a;
  int64_t lda;
  const float* b;
  int64_t k;
  float* c;
  int64_t ldc;
  int64_t columns;  ///< of C to write
  const float* bias;
  bool first;
};

template <int vectors>
static inline void put(float* c, const Vec* sum, int64_t columns, const float* bias, bool first) {
  for (int v = 0; v < vectors; ++v) {
    const int64_t left = columns - v * lanes, n = left < lanes ? left : lanes;
    if (n <= 0) return;
    if (n == lanes) {
      Vec y = sum[v];
      if (!first) y += load(c + v * lanes);
      else if (bias) y += load(bias + v * lanes);
      store(c + v * lanes, y);
    } else {
      Vec y = sum[v];
      if (!first) y += load_first(c + v * lanes, n);
      else if (bias) y += load_first(bias + v * lanes, n);
      store_first(c + v * lanes, y, n);
    }
  }
}

template <int rows, int vectors, bool packed>
static void micro(const Micro& t) {
  Vec sum[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) sum[r][v] = Vec(0.0f);
  const float *a = t.a, *b = t.b;
  const int64_t lda = t.lda;
#pragma GCC unroll 4
  for (int64_t p = 0; p < t.k; ++p) {
    Vec y[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) y[v] = load(b + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const Vec x(packed ? a[r] : a[r * lda]);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sum[r][v] = fma(x, y[v], sum[r][v]);
    }
    a += packed ? max_rows : 1;
    b += panel;
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) put<vectors>(t.c + r * t.ldc, sum[r], t.columns, t.bias, t.first);
}

using MicroFunction = void (*)(const Micro&);
template <int rows>
static MicroFunction micro_of(int64_t wanted, bool wide, bool packed) {
  if constexpr (rows > 1)
    if (wanted < rows) return micro_of<rows - 1>(wanted, wide, packed);
  if (packed) return wide ? micro<rows, 2, true> : micro<rows, 1, true>;
  return wide ? micro<rows, 2, false> : micro<rows, 1, false>;
}

/// Rows that are packed at a time, strip by strip: what is read stays contiguous, and neither side of the copy walks in
/// strides that map to one set of the cache.
static constexpr int64_t pack_rows = 8;

/// to[i·panel + j] = from[j·stride + i] for 4 × 4 elements.
static inline void transpose4(const float* from, int64_t stride, float* to) {
  typedef float Four __attribute__((vector_size(16)));
  Four r[4];
  for (int j = 0; j < 4; ++j) std::memcpy(&r[j], from + j * stride, sizeof(Four));
  const Four a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5), b = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5),
             c = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7), d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  const Four y[4] = {__builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
                     __builtin_shufflevector(c, d, 0, 1, 4, 5), __builtin_shufflevector(c, d, 2, 3, 6, 7)};
  for (int i = 0; i < 4; ++i) std::memcpy(to + i * panel, &y[i], sizeof(Four));
}

/// Rows [p, end) of one panel of B, element by element; columns beyond n are zero.
static void pack_b_edge(const float* from, int64_t row, int64_t column, int64_t p, int64_t end, int64_t n, float* to) {
  for (; p < end; ++p)
    for (int64_t j = 0; j < panel; ++j) to[p * panel + j] = j < n ? from[p * row + j * column] : 0.0f;
}

/// B's rows [p0, p0 + k), all columns, as panels of k × `panel`.
static void pack_b(const GemmTile& t, int64_t p0, int64_t k, float* to) {
  const float* const b = t.b + p0 * t.b_row;
  for (int64_t first = 0; first < k; first += pack_rows) {
    const int64_t last = first + pack_rows < k ? first + pack_rows : k;
    float* out = to;
    for (int64_t j = 0; j < t.n; j += panel, out += k * panel) {
      const float* const from = b + j * t.b_column;
      const int64_t n = t.n - j < panel ? t.n - j : panel;
      if (n < panel) {
        pack_b_edge(from, t.b_row, t.b_column, first, last, n, out);
      } else if (t.b_column == 1) {
        for (int64_t p = first; p < last; ++p) {
          store(out + p * panel, load(from + p * t.b_row));
          store(out + p * panel + lanes, load(from + p * t.b_row + lanes));
        }
      } else {
        int64_t p = first;
        if (t.b_row == 1)
          for (; p + 4 <= last; p += 4)
            for (int64_t i = 0; i < panel; i += 4)
              transpose4(from + p + i * t.b_column, t.b_column, out + p * panel + i);
        pack_b_edge(from, t.b_row, t.b_column, p, last, n, out);
      }
    }
  }
}

/// `rows` rows of A from i0 on, columns [p0, p0 + k), as strips of k × max_rows. What pads the last strip is never
/// read.
static void pack_a(const GemmTile& t, int64_t i0, int64_t rows, int64_t p0, int64_t k, float* to) {
  const float* const a = t.a + i0 * t.a_row + p0 * t.a_column;
  for (int64_t first = 0; first < k; first += pack_rows) {
    const int64_t last = first + pack_rows < k ? first + pack_rows : k;
    float* out = to;
    for (int64_t i = 0; i < rows; i += max_rows, out += k * max_rows) {
      const int64_t n = rows - i < max_rows ? rows - i : max_rows;
      const float* const from = a + i * t.a_row;
      if (n == max_rows && t.a_row == 1) {
        for (int64_t p = first; p < last; ++p)
          std::memcpy(out + p * max_rows, from + p * t.a_column, max_rows * sizeof(float));
      } else {
        for (int64_t p = first; p < last; ++p)
          for (int64_t r = 0; r < n; ++r) out[p * max_rows + r] = from[p * t.a_column + r * t.a_row];
      }
    }
  }
}

void gemm_tile(const GemmTile& t, float* scratch) {
  float *const packed_b = scratch, *const packed_a = scratch + gemm_k_block * gemm_tile_columns;
  const bool pack = t.a_column != 1;  // rows of A that lie apart are read in place
  for (int64_t p = 0; p < t.k; p += gemm_k_block) {
    const int64_t k = t.k - p < gemm_k_block ? t.k - p : gemm_k_block;
    pack_b(t, p, k, packed_b);
    for (int64_t i0 = 0; i0 < t.m; i0 += gemm_row_block) {
      const int64_t rows = t.m - i0 < gemm_row_block ? t.m - i0 : gemm_row_block;
      if (pack) pack_a(t, i0, rows, p, k, packed_a);
      for (int64_t j = 0; j < t.n; j += panel) {
        const int64_t columns = t.n - j < panel ? t.n - j : panel;
        for (int64_t i = 0; i < rows; i += max_rows) {
          const int64_t n = rows - i < max_rows ? rows - i : max_rows;
          const float* a = pack ? packed_a + i * k : t.a + (i0 + i) * t.a_row + p;
          micro_of<max_rows>(n, columns > lanes, pack)({a, t.a_row, packed_b + j * k, k, t.c + (i0 + i) * t.ldc + j,
                                                        t.ldc, columns, t.bias ? t.bias + j : nullptr, p == 0});
        }
      }
    }
  }
}

}  // namespace headroom::engine::HEADROOM_ISA
