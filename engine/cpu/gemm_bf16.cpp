#include "engine/cpu/gemm_bf16.h"

#include <algorithm>
#include <memory>
#include <new>

#include "engine/cpu/gemm_bf16_kernel.h"
#include "engine/cpu/halves_kernel.h"
#include "engine/parallel.h"
#include "engine/tensor.h"

namespace headroom::engine {
namespace {

int64_t pieces_of(int64_t n, int64_t size) { return (n + size - 1) / size; }

/// How one product is cut. A result in f32 may also be cut along k: its parts are added in order afterwards.
struct CutBf16 {
  int64_t rows, columns, depth;  ///< of one tile
  int64_t row_tiles, column_tiles, depth_tiles = 1;

  CutBf16(int64_t m, int64_t n, int64_t k, int64_t batch, bool may_cut_depth) {
    constexpr int64_t wanted_tiles = 16, least_rows = 96, least_depth = 512;
    column_tiles = pieces_of(n, gemm_bf16_columns);
    columns = std::min(n, pieces_of(pieces_of(n, column_tiles), 32) * 32);
    column_tiles = pieces_of(n, columns);
    row_tiles = pieces_of(m, gemm_bf16_rows);
    while (batch * tiles() < wanted_tiles) {
      if (m >= 2 * row_tiles * least_rows) row_tiles *= 2;
      else if (may_cut_depth && k >= 2 * depth_tiles * least_depth) depth_tiles *= 2;
      else break;
    }
    rows = std::min(m, pieces_of(pieces_of(m, row_tiles), 12) * 12);
    row_tiles = pieces_of(m, rows);
    depth = std::min(k, pieces_of(pieces_of(k, depth_tiles), 2) * 2);
    depth_tiles = pieces_of(k, depth);
  }
  int64_t tiles() const { return row_tiles * column_tiles * depth_tiles; }
};

/// This thread's space for packed blocks, kept as long as the thread.
uint32_t* scratch_bf16() {
  struct Free {
    void operator()(uint32_t* p) const { ::operator delete(p, std::align_val_t(64)); }
  };
  thread_local const std::unique_ptr<uint32_t, Free> block(
      static_cast<uint32_t*>(::operator new(gemm_bf16_scratch * sizeof(uint32_t), std::align_val_t(64))));
  return block.get();
}

/// k = 0: the bias plus `added`, or zero.
void without_products(const Bf16Product& g, int64_t batch) {
  for (int64_t i = 0; i < batch * g.m * g.n; ++i) {
    const float x = (g.bias ? g.bias[i % g.n] : 0.0f) + (g.added ? static_cast<float>(g.added[i]) : 0.0f);
    if (g.y) g.y[i] = bf16(x);
    else g.c[i] = 0;
  }
}

}  // namespace

void gemm_bf16(const Bf16Product& g, int64_t batch, const int64_t* a_offsets, const int64_t* b_offsets) {
  if (batch == 0 || g.m == 0 || g.n == 0) return;
  if (g.k == 0) return without_products(g, batch);
  const CutBf16 cut(g.m, g.n, g.k, batch, g.y == nullptr);
  const int64_t a_row = g.a.transposed ? 1 : g.a.stride, a_column = g.a.transposed ? g.a.stride : 1;
  const int64_t b_row = g.b.transposed ? 1 : g.b.stride, b_column = g.b.transposed ? g.b.stride : 1;
  const int64_t size = g.m * g.n;
  // Chunks of k beyond the first, added in order afterwards.
  const Tensor partial = Tensor::empty({batch, cut.depth_tiles - 1, g.m, g.n});
  float* const sums = partial.mutable_data<float>();
  const auto bits = [](const bf16* x) { return &x->bits; };
  const auto tile = has_slow_bf16_pairs() ? kernel::gemm_tile_bf16.avx512 : kernel::gemm_tile_bf16.best();
  parallel_for(batch * cut.tiles(), [&](int64_t index) {
    const int64_t d = index % cut.depth_tiles, j = index / cut.depth_tiles % cut.column_tiles * cut.columns,
                  i = index / (cut.depth_tiles * cut.column_tiles) % cut.row_tiles * cut.rows, b = index / cut.tiles();
    const int64_t p = d * cut.depth, at = b * size + i * g.n + j;
    float* const c = d == 0 ? g.c + at : sums + (b * (cut.depth_tiles - 1) + d - 1) * size + i * g.n + j;
    tile({.m = std::min(cut.rows, g.m - i),
          .n = std::min(cut.columns, g.n - j),
          .k = std::min(cut.depth, g.k - p),
          .a = bits(g.a.data + (a_offsets ? a_offsets[b] : 0) + i * a_row + p * a_column),
          .a_row = a_row,
          .a_column = a_column,
          .b = bits(g.b.data + (b_offsets ? b_offsets[b] : 0) + p * b_row + j * b_column),
          .b_row = b_row,
          .b_column = b_column,
          .c = g.y ? nullptr : c,
          .y = g.y ? &g.y[at].bits : nullptr,
          .stride = g.n,
          .bias = g.bias ? g.bias + j : nullptr,
          .added = g.added ? bits(g.added + at) : nullptr},
         scratch_bf16());
  });
  if (cut.depth_tiles == 1) return;
  parallel_ranges(batch * size, elementwise_grain, [&](int64_t begin, int64_t end) {
    for (int64_t d = 0; d < cut.depth_tiles - 1; ++d)
      for (int64_t i = begin; i < end; ++i) g.c[i] += sums[(i / size * (cut.depth_tiles - 1) + d) * size + i % size];
  });
}

}  // namespace headroom::engine
