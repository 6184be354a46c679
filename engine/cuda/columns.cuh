#pragma once
#include <algorithm>

#include "engine/cuda/launch.cuh"
#include "engine/cuda/number.cuh"
#include "engine/tensor.h"

// Sums over rows for every column: reductions of the first or a middle axis, and gradients of tensors broadcast to all
// rows.
namespace headroom::engine::cuda {

/// A block sums `chunk` rows of 32 columns: eight threads per column, whose sums are added in order.
inline constexpr int block_columns = 32, block_rows = 8;

template <int vectors, class C, class To, class F>
__global__ void add_columns_kernel(F f, To* y, int64_t outer, int64_t rows, int64_t width, int64_t chunk) {
  __shared__ C sums[vectors][block_rows][block_columns];
  const int64_t chunks = (rows + chunk - 1) / chunk, column_blocks = (width + block_columns - 1) / block_columns;
  const int64_t blocks = outer * chunks * column_blocks;
  const int x = static_cast<int>(threadIdx.x), lane = static_cast<int>(threadIdx.y);
  for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const int64_t task = block / column_blocks, column = block % column_blocks * block_columns + x;
    const int64_t o = task / chunks, first = task % chunks * chunk, end = std::min(rows, first + chunk);
    C own[vectors] = {};
    if (column < width)
      for (int64_t row = first + lane; row < end; row += block_rows) f(o * rows + row, column, own);
    for (int v = 0; v < vectors; ++v) sums[v][lane][x] = own[v];
    __syncthreads();
    if (lane < vectors && column < width) {
      C total = sums[lane][0][x];
      for (int i = 1; i < block_rows; ++i) total += sums[lane][i][x];
      store(y[(task * vectors + lane) * width + column], static_cast<Compute<To>>(total));
    }
    __syncthreads();
  }
}

/// Elements in memory order, row by row.
template <class T>
struct ColumnValue {
  const T* x;
  int64_t width;
  __device__ void operator()(int64_t row, int64_t column, Compute<T> (&sums)[1]) const {
    sums[0] += load(x[row * width + column]);
  }
};

/// y (outer, vectors, width) = Σ over each `rows` rows of the terms that f(row, column, sums) adds to C sums[vectors];
/// `row` counts on over `outer`. If there are few columns, rows are cut into chunks whose sums the same kernel adds in
/// order: the bits depend only on the shape. Needs at least one row and column.
template <int vectors, class C, class To, class F>
void add_columns(const char* name, int64_t outer, int64_t rows, int64_t width, const F& f, To* y, Device device) {
  static_assert(vectors <= block_rows);
  constexpr int64_t enough_blocks = 512, chunk_rows = 128, most_blocks = 1 << 20;
  const int64_t columns = outer * ((width + block_columns - 1) / block_columns);
  const int64_t chunk = columns >= enough_blocks ? rows : std::min(rows, chunk_rows);
  const int64_t chunks = (rows + chunk - 1) / chunk;
  const LaunchShape shape{std::min(most_blocks, columns * chunks), dim3(block_columns, block_rows)};
  if (chunks == 1) {
    launch_kernel(name, add_columns_kernel<vectors, C, To, F>, shape, f, y, outer, rows, width, chunk);
    return;
  }
  const Tensor partial = Tensor::empty({outer, chunks, vectors, width}, dtype_of<C>(), device);
  C* sums = partial.mutable_data<C>();
  launch_kernel(name, add_columns_kernel<vectors, C, C, F>, shape, f, sums, outer, rows, width, chunk);
  add_columns<1, C, To>(name, outer, chunks, vectors * width, ColumnValue<C>{sums, vectors * width}, y, device);
}

}  // namespace headroom::engine::cuda
