#pragma once
#include <algorithm>

#include "engine/cuda/blas.h"
#include "engine/cuda/columns.cuh"
#include "engine/cuda/launch.cuh"
#include "engine/cuda/numbers.cuh"
#include "engine/joined_sums.h"
#include "engine/tensor.h"

namespace headroom::engine::cuda {

template <class T>
struct AddBias {
  T* y;
  const T* bias;
  int64_t width, row;
  __device__ void operator()(int64_t i) const {
    T& to = y[i / width * row + i % width];
    store(to, load(to) + load(bias[i % width]));
  }
};

/// y (rows, width), rows of stride 1, += bias (width), for products to which the library cannot add it.
inline void add_bias(const Tensor& y, const Tensor& bias) {
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    launch("add_bias", y.numel(), AddBias<T>{y.mutable_data<T>(), bias.data<T>(), bias.dim(0), y.strides()[0]});
  };
  if (y.dtype() == DType::bf16) return run(bf16{});
  y.dtype() == DType::f32 ? run(float{}) : run(double{});
}

/// The rows of a tensor, rows of stride 1, for column_chunks().
template <class T>
struct StoredRows {
  using Element = T;
  const T* x;
  int64_t stride;
  bool aligned;
  template <int pack>
  __device__ Numbers<T, pack> at(int64_t row, int64_t column) const {
    return load_numbers<pack>(x + row * stride + column, aligned);
  }
};

/// y (chunks, width) = the sums of `chunk` rows each of x.at<pack>(row, column), whose numbers each are asked for once.
/// A lane takes a pack of neighbouring columns, a warp every eighth row of its block's chunk.
template <int pack, class Rows, class To>
__global__ void column_chunks_kernel(Rows x, To* y, int64_t rows, int64_t width, int64_t chunk) {
  using T = typename Rows::Element;
  using C = Compute<T>;
  constexpr int columns = block_columns * pack;
  __shared__ C sums[block_rows][columns];
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const int64_t first = int64_t{blockIdx.y} * chunk, end = std::min(rows, first + chunk);
  const int64_t column = int64_t{blockIdx.x} * columns + lane * pack;
  Numbers<C, pack> own{};
  if (column + pack <= width) {
#pragma unroll 4
    for (int64_t row = first + warp; row < end; row += block_rows) {
      const Numbers<T, pack> v = x.template at<pack>(row, column);
      for (int k = 0; k < pack; ++k) own.at[k] += v.at[k];
    }
  } else {
    for (int64_t row = first + warp; row < end; row += block_rows)
      for (int k = 0; k < pack; ++k)
        if (column + k < width) own.at[k] += x.template at<1>(row, column + k).at[0];
  }
  // Puts number k of all lanes side by side, so that lanes write to different banks.
  for (int k = 0; k < pack; ++k) sums[warp][k * block_columns + lane] = own.at[k];
  __syncthreads();
  for (int k = warp; k < pack && column + k < width; k += block_rows) {
    C total = sums[0][k * block_columns + lane];
    for (int i = 1; i < block_rows; ++i) total += sums[i][k * block_columns + lane];
    store(y[blockIdx.y * width + column + k], static_cast<Compute<To>>(total));
  }
}

/// How rows are cut: blocks over columns, rows of a chunk, chunks. Depends only on the shape.
struct ColumnChunks {
  int64_t blocks, chunk, chunks;
  ColumnChunks(int64_t rows, int64_t width, int pack, int64_t enough_blocks, int64_t most_chunks, int64_t least_rows) {
    const int64_t columns = int64_t{block_columns} * pack;
    blocks = (width + columns - 1) / columns;
    const int64_t wanted = std::clamp<int64_t>(enough_blocks / blocks, 1, most_chunks);
    chunk = std::max(least_rows, (rows + wanted - 1) / wanted), chunks = (rows + chunk - 1) / chunk;
  }
  template <int pack, class Rows, class To>
  void run(const char* name, const Rows& x, To* y, int64_t rows, int64_t width) const {
    launch_kernel(name, column_chunks_kernel<pack, Rows, To>, {{blocks, chunks}, dim3(block_columns, block_rows)}, x, y,
                  rows, width, chunk);
  }
};

/// True if a kernel shall add the columns of what it makes, for a bias: where no product does so.
inline bool sums_columns(DType dtype) {
  return JoinedSums::wants_columns() && joins_gradients() && !is_wanted(BlasEpilogue::bias_grad, dtype);
}

/// Σ over the rows of dy (rows, out), rows of stride 1, into dbias (out), in an order that depends only on the shape;
/// sums of chunks are f32, or f64 for f64. `is_late`: at the latest by JoinedSums::finish(), and from the sums that the
/// kernel that made dy has kept.
template <class T, class To>
void bias_grad(const Tensor& dy, const Tensor& dbias, bool is_late) {
  using C = Compute<T>;
  constexpr int pack = widest_pack<T>;
  is_late = is_late && dtype_of<To>() == dtype_of<C>() && joins_gradients();
  if (const Tensor known = is_late ? JoinedSums::take_columns(dy) : Tensor(); known.defined())
    return JoinedSums::join({{known, dbias}}, true);
  const int64_t rows = dy.dim(0), width = dy.dim(1), stride = dy.strides()[0];
  const ColumnChunks cut(rows, width, pack, 512, 128, 64);
  const T* x = dy.data<T>();
  const StoredRows<T> from{x, stride, are_aligned(x) && stride % pack == 0};
  if (cut.chunks == 1) return cut.run<pack>("bias_grad", from, dbias.mutable_data<To>(), rows, width);
  const Tensor sums = Tensor::empty({cut.chunks, width}, dtype_of<C>(), dy.device());  // (chunks, out)
  cut.run<pack>("bias_grad", from, sums.mutable_data<C>(), rows, width);
  JoinedSums::join({{sums, dbias}}, is_late);
}

/// The same for a layer's gradient dtypes: dbias of dy's dtype, or f32 for bf16.
inline void add_bias_grad(const Tensor& dy, const Tensor& dbias, bool is_late) {
  if (dy.dtype() == DType::f64) return bias_grad<double, double>(dy, dbias, is_late);
  if (dy.dtype() == DType::f32) return bias_grad<float, float>(dy, dbias, is_late);
  dbias.dtype() == DType::f32 ? bias_grad<bf16, float>(dy, dbias, is_late) : bias_grad<bf16, bf16>(dy, dbias, is_late);
}

/// The result of a product with k = 0.
inline void fill_zero(const Tensor& y) { copy_inplace(y, Tensor::zeros(y.shape(), y.dtype(), y.device())); }

}  // namespace headroom::engine::cuda
