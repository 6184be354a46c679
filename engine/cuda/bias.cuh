#pragma once
#include <algorithm>

#include "engine/cuda/columns.cuh"
#include "engine/cuda/launch.cuh"
#include "engine/cuda/numbers.cuh"
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

/// y (chunks, width) = the sums of `chunk` rows each of x (rows, width), rows `stride` apart. A lane takes a pack of
/// neighbouring columns, a warp every eighth row of its block's chunk.
template <class T, class To, int pack>
__global__ void bias_grad_kernel(const T* x, To* y, int64_t rows, int64_t width, int64_t stride, int64_t chunk,
                                 bool aligned) {
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
      const Numbers<T, pack> v = load_numbers<pack>(x + row * stride + column, aligned);
      for (int k = 0; k < pack; ++k) own.at[k] += v.at[k];
    }
  } else {
    for (int64_t row = first + warp; row < end; row += block_rows)
      for (int k = 0; k < pack; ++k)
        if (column + k < width) own.at[k] += load(x[row * stride + column + k]);
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

/// Σ over the rows of dy (rows, out), rows of stride 1, into dbias (out), in an order that depends only on the shape;
/// sums, also between the two kernels, are f32, or f64 for f64.
template <class T, class To>
void bias_grad(const Tensor& dy, const Tensor& dbias) {
  using C = Compute<T>;
  constexpr int pack = widest_pack<T>;
  constexpr int64_t enough_blocks = 512, most_chunks = 128, least_rows = 64, columns = block_columns * pack;
  const int64_t rows = dy.dim(0), width = dy.dim(1), stride = dy.strides()[0];
  const int64_t blocks = (width + columns - 1) / columns;
  const int64_t wanted = std::clamp<int64_t>(enough_blocks / blocks, 1, most_chunks);
  const int64_t chunk = std::max(least_rows, (rows + wanted - 1) / wanted), chunks = (rows + chunk - 1) / chunk;
  const LaunchShape shape{dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(chunks)),
                          dim3(block_columns, block_rows)};
  const T* x = dy.data<T>();
  const bool aligned = are_aligned(x) && stride % pack == 0;
  if (chunks == 1) {
    launch_kernel("bias_grad", bias_grad_kernel<T, To, pack>, shape, x, dbias.mutable_data<To>(), rows, width, stride,
                  chunk, aligned);
    return;
  }
  const Tensor partial = Tensor::empty({chunks, width}, dtype_of<C>(), dy.device());
  C* sums = partial.mutable_data<C>();
  launch_kernel("bias_grad", bias_grad_kernel<T, C, pack>, shape, x, sums, rows, width, stride, chunk, aligned);
  add_columns<1, C, To>("bias_grad", 1, chunks, width, ColumnValue<C>{sums, width}, dbias.mutable_data<To>(),
                        dy.device());
}

/// The same for a layer's gradient dtypes: dbias of dy's dtype, or f32 for bf16.
inline void add_bias_grad(const Tensor& dy, const Tensor& dbias) {
  if (dy.dtype() == DType::f64) return bias_grad<double, double>(dy, dbias);
  if (dy.dtype() == DType::f32) return bias_grad<float, float>(dy, dbias);
  dbias.dtype() == DType::f32 ? bias_grad<bf16, float>(dy, dbias) : bias_grad<bf16, bf16>(dy, dbias);
}

/// The result of a product with k = 0.
inline void fill_zero(const Tensor& y) { copy_inplace(y, Tensor::zeros(y.shape(), y.dtype(), y.device())); }

}  // namespace headroom::engine::cuda
