#include "engine/cpu/gemm.h"

#include <algorithm>
#include <memory>
#include <new>
#include <type_traits>

#include "engine/context.h"
#include "engine/cpu/gemm_kernel.h"
#include "engine/cpu/onednn.h"
#include "engine/isa.h"
#include "engine/parallel.h"
#include "engine/tensor.h"

namespace headroom::engine {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// How one product is cut. Of the shape alone: never of the number of threads. Columns first: as many to a tile as the
/// packed B may have. Then, while there are few tiles, rows or k by halves: powers of two divide well among threads.
struct Cut {
  int64_t rows, columns, depth;  ///< of one tile
  int64_t row_tiles = 1, column_tiles, depth_tiles = 1;

  Cut(int64_t m, int64_t n, int64_t k, int64_t batch) {
    constexpr int64_t wanted_tiles = 16, least_rows = 128, least_depth = 192, least_work = 1 << 18;
    column_tiles = ceil_div(n, gemm_tile_columns);
    columns = std::min(n, ceil_div(ceil_div(n, column_tiles), 32) * 32);
    column_tiles = ceil_div(n, columns);
    while (batch * tiles() < wanted_tiles && m * n * k >= 2 * least_work * tiles()) {
      const bool can_rows = m >= 2 * row_tiles * least_rows, can_depth = k >= 2 * depth_tiles * least_depth;
      if (!can_rows && !can_depth) break;
      // Rows in twice as many tiles pack B (k, n) that often more; k in twice as many writes, reads and adds C (m, n).
      if (can_rows && (!can_depth || row_tiles * k <= 3 * depth_tiles * m)) row_tiles *= 2;
      else depth_tiles *= 2;
    }
    rows = std::min(m, ceil_div(ceil_div(m, row_tiles), 12) * 12);
    row_tiles = ceil_div(m, rows);
    depth = std::min(k, ceil_div(ceil_div(k, depth_tiles), 8) * 8);
    depth_tiles = ceil_div(k, depth);
  }
  int64_t tiles() const { return row_tiles * column_tiles * depth_tiles; }
};

/// This thread's space for packed blocks, kept as long as the thread.
template <class T>
T* scratch() {
  struct Free {
    void operator()(T* p) const { ::operator delete(p, std::align_val_t(64)); }
  };
  thread_local const std::unique_ptr<T, Free> block(
      static_cast<T*>(::operator new(gemm_scratch * sizeof(T), std::align_val_t(64))));
  return block.get();
}

/// One tile through oneDNN, else through our own kernel.
void fast_tile(const GemmTile<float>& t, bool own) {
  const bool at = t.a_column != 1, bt = t.b_column != 1;
  // A factor of one row may have any stride; oneDNN needs one that holds the row.
  const int64_t lda = std::max(std::max(t.a_row, t.a_column), at ? t.m : t.k);
  const int64_t ldb = std::max(std::max(t.b_row, t.b_column), bt ? t.k : t.n);
  if (own || !onednn_sgemm(at, bt, t.m, t.n, t.k, t.a, lda, t.b, ldb, t.c, t.ldc))
    return kernel::gemm_tile_f32(t, scratch<float>());
  if (!t.bias) return;
  for (int64_t i = 0; i < t.m; ++i)
    for (int64_t j = 0; j < t.n; ++j) t.c[i * t.ldc + j] += t.bias[j];
}

/// A product of a few rows reads B once: our kernel, which packs B, would read it twice. From AVX-512 on ours is the
/// faster one for short sums with a bias, which it adds as it writes C: 106 GFLOP/s against 73 (Zen 4, k = 64).
bool takes_own(const MatrixProduct<float>& g) {
  constexpr int64_t few_rows = 8, short_sum = 64;
  if (const ProductPath path = context().product_path; path != ProductPath::best) return path == ProductPath::own;
  return g.m > few_rows && (active_isa() <= Isa::avx2 || (g.bias && g.k <= short_sum));
}

void fast_tile(const GemmTile<double>& t, bool) { kernel::gemm_tile_f64(t, scratch<double>()); }
bool takes_own(const MatrixProduct<double>&) { return true; }

template <class T>
void fast_gemm(const MatrixProduct<T>& g, int64_t batch, const int64_t* a_offsets, const int64_t* b_offsets,
               int64_t c_step) {
  const Cut cut(g.m, g.n, g.k, batch);
  const bool own = takes_own(g);
  const int64_t a_row = g.a.transposed ? 1 : g.a.stride, a_column = g.a.transposed ? g.a.stride : 1;
  const int64_t b_row = g.b.transposed ? 1 : g.b.stride, b_column = g.b.transposed ? g.b.stride : 1;
  // Chunks of k beyond the first go to (batch, depth_tiles - 1, m, n) and are added in order afterwards.
  const Tensor partial = Tensor::empty({batch, cut.depth_tiles - 1, g.m, g.n}, dtype_of<T>());
  T* const sums = partial.mutable_data<T>();
  parallel_for(batch * cut.tiles(), [&](int64_t index) {
    const int64_t d = index % cut.depth_tiles, j0 = index / cut.depth_tiles % cut.column_tiles * cut.columns,
                  i0 = index / (cut.depth_tiles * cut.column_tiles) % cut.row_tiles * cut.rows, b = index / cut.tiles();
    const int64_t p0 = d * cut.depth;
    T* const c = d == 0 ? g.c + b * c_step : sums + (b * (cut.depth_tiles - 1) + d - 1) * g.m * g.n;
    const int64_t ldc = d == 0 ? g.ldc : g.n;
    fast_tile(GemmTile<T>{std::min(cut.rows, g.m - i0), std::min(cut.columns, g.n - j0), std::min(cut.depth, g.k - p0),
                          g.a.data + (a_offsets ? a_offsets[b] : 0) + i0 * a_row + p0 * a_column, a_row, a_column,
                          g.b.data + (b_offsets ? b_offsets[b] : 0) + p0 * b_row + j0 * b_column, b_row, b_column,
                          c + i0 * ldc + j0, ldc, d == 0 && g.bias ? g.bias + j0 : nullptr, d == 0 && g.add},
              own);
  });
  if (cut.depth_tiles == 1) return;
  parallel_for(batch * g.m, std::max<int64_t>(1, (1 << 14) / g.n), [&](int64_t row) {
    const int64_t b = row / g.m, i = row % g.m;
    T* const c = g.c + b * c_step + i * g.ldc;
    for (int64_t d = 0; d < cut.depth_tiles - 1; ++d) {
      const T* const from = sums + ((b * (cut.depth_tiles - 1) + d) * g.m + i) * g.n;
      for (int64_t j = 0; j < g.n; ++j) c[j] += from[j];
    }
  });
}

/// The definition: every sum runs through k in order. B is laid out by rows first, so that the inner loop is
/// contiguous.
template <class T>
void reference_gemm(const MatrixProduct<T>& g, int64_t batch, const int64_t* a_offsets, const int64_t* b_offsets,
                    int64_t c_step) {
  const int64_t a_row = g.a.transposed ? 1 : g.a.stride, a_column = g.a.transposed ? g.a.stride : 1;
  const Tensor rows_of_b = Tensor::empty({b_offsets ? batch : 1, g.k, g.n}, dtype_of<T>());
  T* const by_rows = rows_of_b.mutable_data<T>();
  parallel_for(rows_of_b.dim(0) * g.k, std::max<int64_t>(1, (1 << 14) / g.n), [&](int64_t row) {
    const int64_t p = row % g.k;
    const T* const from = g.b.data + (b_offsets ? b_offsets[row / g.k] : 0) + p * (g.b.transposed ? 1 : g.b.stride);
    for (int64_t j = 0; j < g.n; ++j) by_rows[row * g.n + j] = from[j * (g.b.transposed ? g.b.stride : 1)];
  });
  parallel_for(batch * g.m, std::max<int64_t>(1, (1 << 15) / (g.n * std::max<int64_t>(1, g.k))), [&](int64_t row) {
    const int64_t i = row % g.m, which = row / g.m;
    const T* const a = g.a.data + (a_offsets ? a_offsets[which] : 0) + i * a_row;
    const T* const b = by_rows + (b_offsets ? which : 0) * g.k * g.n;
    T* const c = g.c + which * c_step + i * g.ldc;
    std::fill(c, c + g.n, T(0));
    for (int64_t p = 0; p < g.k; ++p)
      for (int64_t j = 0; j < g.n; ++j) c[j] += a[p * a_column] * b[p * g.n + j];
    if (g.bias)
      for (int64_t j = 0; j < g.n; ++j) c[j] += g.bias[j];
  });
}

}  // namespace

template <class T>
void gemm_loops(const MatrixProduct<T>& g, int64_t batch, const int64_t* a_offsets, const int64_t* b_offsets,
                int64_t c_step) {
  if (batch == 0 || g.m == 0 || g.n == 0) return;
  reference_gemm(g, batch, a_offsets, b_offsets, c_step);
}

template <class T>
void gemm(const MatrixProduct<T>& g, int64_t batch, const int64_t* a_offsets, const int64_t* b_offsets,
          int64_t c_step) {
  if (g.k > 0) {
    if (batch > 0 && g.m > 0 && g.n > 0) fast_gemm(g, batch, a_offsets, b_offsets, c_step);
  } else if (!g.add) {
    gemm_loops(g, batch, a_offsets, b_offsets, c_step);
  }
}

#define HEADROOM_INSTANTIATE(T)                                                                     \
  template void gemm<T>(const MatrixProduct<T>&, int64_t, const int64_t*, const int64_t*, int64_t); \
  template void gemm_loops<T>(const MatrixProduct<T>&, int64_t, const int64_t*, const int64_t*, int64_t);
HEADROOM_INSTANTIATE(float)
HEADROOM_INSTANTIATE(double)
#undef HEADROOM_INSTANTIATE

}  // namespace headroom::engine
