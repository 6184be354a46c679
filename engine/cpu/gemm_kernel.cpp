// Compiled once per instruction set: our own product of one tile, f32 or f64, after Goto & van de Geijn, "Anatomy of
// high-performance matrix multiplication" (2008). B is packed into panels of two vectors of columns, which the
// first-level cache holds; a micro-kernel keeps `max_rows` × 2 vectors of C in registers while it runs through a block
// of k.
#include "engine/cpu/gemm_kernel.h"

#include "engine/cpu/simd_f64.h"

namespace headroom::engine::HEADROOM_ISA {

template <class T>
static constexpr int64_t panel = 2 * lanes_of<T>;
static constexpr int max_rows = lanes == 16 ? 12 : 6;
static_assert(gemm_row_block % max_rows == 0 && gemm_tile_columns % panel<float> == 0);

/// One `rows` × (vectors · lanes) block of C over k steps of a panel of B. A is read in place (rows lda apart), or
/// packed with max_rows values per step. The first block of k writes C, the bias added if there is one; the others
/// add to it.
template <class T>
struct Micro {
  const T* a;
  int64_t lda;
  const T* b;
  int64_t k;
  T* c;
  int64_t ldc;
  int64_t columns;  ///< of C to write
  const T* added;   ///< rows `added_row` apart that are added to the sums; null: none
  int64_t added_row;
};

/// Writes the first n sums of a vector. Not inline: a micro-kernel has two dozen vectors, each of them with an edge.
template <class T>
static __attribute__((noinline)) void put_edge(T* c, VecOf<T> y, int64_t n, const T* added) {
  store_first(c, added ? y + load_first(added, n) : y, n);
}

template <class T, int rows, int vectors, bool packed>
static void micro(const Micro<T>& t) {
  using V = VecOf<T>;
  constexpr int width = lanes_of<T>;
  V sum[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) sum[r][v] = V(T(0));
  const T *a = t.a, *b = t.b;
  const int64_t lda = t.lda;
#pragma GCC unroll 4
  for (int64_t p = 0; p < t.k; ++p) {
    V y[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) y[v] = load(b + v * width);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const V x(packed ? a[r] : a[r * lda]);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sum[r][v] = fma(x, y[v], sum[r][v]);
    }
    a += packed ? max_rows : 1;
    b += panel<T>;
  }
  const int64_t last = t.columns - (vectors - 1) * width;  // columns of the last vector; one before it is whole
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      T* const c = t.c + r * t.ldc + v * width;
      const T* const added = t.added ? t.added + r * t.added_row + v * width : nullptr;
      if (v + 1 == vectors && last < width) put_edge<T>(c, sum[r][v], last, added);
      else store(c, added ? sum[r][v] + load(added) : sum[r][v]);
    }
}

template <class T>
using MicroFunction = void (*)(const Micro<T>&);
template <class T, int rows>
static MicroFunction<T> micro_of(int64_t wanted, bool wide, bool packed) {
  if constexpr (rows > 1)
    if (wanted < rows) return micro_of<T, rows - 1>(wanted, wide, packed);
  if (packed) return wide ? micro<T, rows, 2, true> : micro<T, rows, 1, true>;
  return wide ? micro<T, rows, 2, false> : micro<T, rows, 1, false>;
}

/// Rows that are packed at a time, strip by strip: what is read stays contiguous, and neither side of the copy walks in
/// strides that map to one set of the cache.
static constexpr int64_t packed_at_once = 8;

/// to[i·panel + j] = from[j·stride + i] for 4 × 4 elements.
template <class T>
static inline void transpose4(const T* from, int64_t stride, T* to) {
  typedef T Four __attribute__((vector_size(4 * sizeof(T))));
  Four r[4];
  for (int j = 0; j < 4; ++j) std::memcpy(&r[j], from + j * stride, sizeof(Four));
  const Four a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5), b = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5),
             c = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7), d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  const Four y[4] = {__builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
                     __builtin_shufflevector(c, d, 0, 1, 4, 5), __builtin_shufflevector(c, d, 2, 3, 6, 7)};
  for (int i = 0; i < 4; ++i) std::memcpy(to + i * panel<T>, &y[i], sizeof(Four));
}

/// Rows [p, end) of one panel of B, element by element; columns beyond n are zero.
template <class T>
static void pack_b_edge(const T* from, int64_t row, int64_t column, int64_t p, int64_t end, int64_t n, T* to) {
  for (; p < end; ++p)
    for (int64_t j = 0; j < panel<T>; ++j) to[p * panel<T> + j] = j < n ? from[p * row + j * column] : T(0);
}

/// B's rows [p0, p0 + k), all columns, as panels of k × `panel<T>`.
template <class T>
static void pack_b(const GemmTile<T>& t, int64_t p0, int64_t k, T* to) {
  const T* const b = t.b + p0 * t.b_row;
  for (int64_t first = 0; first < k; first += packed_at_once) {
    const int64_t last = first + packed_at_once < k ? first + packed_at_once : k;
    T* out = to;
    for (int64_t j = 0; j < t.n; j += panel<T>, out += k * panel<T>) {
      const T* const from = b + j * t.b_column;
      const int64_t n = t.n - j < panel<T> ? t.n - j : panel<T>;
      if (n < panel<T>) {
        pack_b_edge(from, t.b_row, t.b_column, first, last, n, out);
      } else if (t.b_column == 1) {
        for (int64_t p = first; p < last; ++p) {
          store(out + p * panel<T>, load(from + p * t.b_row));
          store(out + p * panel<T> + lanes_of<T>, load(from + p * t.b_row + lanes_of<T>));
        }
      } else {
        int64_t p = first;
        if (t.b_row == 1)
          for (; p + 4 <= last; p += 4)
            for (int64_t i = 0; i < panel<T>; i += 4)
              transpose4(from + p + i * t.b_column, t.b_column, out + p * panel<T> + i);
        pack_b_edge(from, t.b_row, t.b_column, p, last, n, out);
      }
    }
  }
}

/// `rows` rows of A from i0 on, columns [p0, p0 + k), as strips of k × max_rows. What pads the last strip is never
/// read.
template <class T>
static void pack_a(const GemmTile<T>& t, int64_t i0, int64_t rows, int64_t p0, int64_t k, T* to) {
  const T* const a = t.a + i0 * t.a_row + p0 * t.a_column;
  for (int64_t first = 0; first < k; first += packed_at_once) {
    const int64_t last = first + packed_at_once < k ? first + packed_at_once : k;
    T* out = to;
    for (int64_t i = 0; i < rows; i += max_rows, out += k * max_rows) {
      const int64_t n = rows - i < max_rows ? rows - i : max_rows;
      const T* const from = a + i * t.a_row;
      if (n == max_rows && t.a_row == 1) {
        for (int64_t p = first; p < last; ++p)
          std::memcpy(out + p * max_rows, from + p * t.a_column, max_rows * sizeof(T));
      } else {
        for (int64_t p = first; p < last; ++p)
          for (int64_t r = 0; r < n; ++r) out[p * max_rows + r] = from[p * t.a_column + r * t.a_row];
      }
    }
  }
}

template <class T>
static void tile_of(const GemmTile<T>& t, T* scratch) {
  T *const packed_b = scratch, *const packed_a = scratch + gemm_k_block * gemm_tile_columns;
  const bool pack = t.a_column != 1;  // rows of A that lie apart are read in place
  for (int64_t p = 0; p < t.k; p += gemm_k_block) {
    const int64_t k = t.k - p < gemm_k_block ? t.k - p : gemm_k_block;
    pack_b(t, p, k, packed_b);
    for (int64_t i0 = 0; i0 < t.m; i0 += gemm_row_block) {
      const int64_t rows = t.m - i0 < gemm_row_block ? t.m - i0 : gemm_row_block;
      if (pack) pack_a(t, i0, rows, p, k, packed_a);
      for (int64_t j = 0; j < t.n; j += panel<T>) {
        const int64_t columns = t.n - j < panel<T> ? t.n - j : panel<T>;
        for (int64_t i = 0; i < rows; i += max_rows) {
          const int64_t n = rows - i < max_rows ? rows - i : max_rows;
          const T* a = pack ? packed_a + i * k : t.a + (i0 + i) * t.a_row + p;
          T* const c = t.c + (i0 + i) * t.ldc + j;
          const bool adds = p > 0 || t.add;
          micro_of<T, max_rows>(n, columns > lanes_of<T>, pack)({a, t.a_row, packed_b + j * k, k, c, t.ldc, columns,
                                                                 adds     ? c
                                                                 : t.bias ? t.bias + j
                                                                          : nullptr,
                                                                 adds ? t.ldc : 0});
        }
      }
    }
  }
}

void gemm_tile_f32(const GemmTile<float>& t, float* scratch) { tile_of(t, scratch); }
void gemm_tile_f64(const GemmTile<double>& t, double* scratch) { tile_of(t, scratch); }

}  // namespace headroom::engine::HEADROOM_ISA
