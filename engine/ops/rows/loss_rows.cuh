#pragma once
#include "engine/cuda/exp_sum.cuh"
#include "engine/cuda/sum.cuh"
#include "engine/ops/rows/padded_rows.h"
#include "engine/ops/rows/scaled_gradient.h"

// Shared parts of the losses over a vocabulary: counting the rows of a mean on the GPU, and the gradient made with the
// loss.
namespace headroom::engine::cuda {

/// Adds to *count how many i in [0, n) satisfy f. Integers: the order does not matter.
template <class F>
__global__ void count_kernel(int64_t n, F holds, unsigned long long* count) {
  __shared__ unsigned long long scratch[warp_size];
  unsigned long long own = 0;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) own += holds(i) ? 1 : 0;
  own = block_reduce(own, scratch, Add());
  if (threadIdx.x == 0) atomicAdd(count, own);
}

/// How many i in [0, n) satisfy f, as an i64 () on the device.
template <class F>
Tensor count(const char* name, int64_t n, const F& holds, Device device) {
  constexpr int64_t most_blocks = 64, of_a_block = 2048;
  const Tensor out = Tensor::zeros({}, DType::i64, device);
  auto* to = reinterpret_cast<unsigned long long*>(out.mutable_data<int64_t>());
  launch_kernel(name, count_kernel<F>, {std::min(most_blocks, (n + of_a_block - 1) / of_a_block), 256}, n, holds, to);
  return out;
}

/// 1/count, 0 for a count of 0; 1 without a count.
template <class C>
__device__ inline C share_of(const int64_t* count) {
  if (!count) return 1;
  return *count > 0 ? static_cast<C>(1 / static_cast<double>(*count)) : C(0);
}

/// x *= *factor; reads nothing if that is 1.
template <class T, int pack>
__global__ void scale_kernel(T* x, const Compute<T>* factor, int64_t n, bool aligned) {
  const Compute<T> f = *factor;
  if (f == 1) return;
  const int64_t step = int64_t{gridDim.x} * blockDim.x * pack;
  for (int64_t i = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * pack; i < n; i += step) {
    Numbers<T, pack> v = load_numbers<pack>(x + i, aligned);
    for (int k = 0; k < pack; ++k) v.at[k] *= f;
    store_numbers<pack>(x + i, v, aligned);
  }
}

/// Scales a loss's gradient, made with the loss, in place: only the tape holds it. The usual dy of 1 costs a launch and
/// no sweep.
template <class T>
void scale_gradient(ScaledGradientCall& c) {
  if (!has_padded_rows(c.gradient)) c.gradient = c.gradient.contiguous();
  const Tensor rows = c.gradient.as_rows();
  const int64_t n = rows.dim(0) * rows.strides()[0];  // with the gaps, which hold zeros
  T* x = c.gradient.mutable_data<T>();
  const auto* factor = c.dy.data<Compute<T>>();
  with_pack<T>(n, [&](auto pack) {
    constexpr int64_t most_blocks = 4096, threads = 256;
    const int64_t blocks = std::min(most_blocks, (n / pack() + threads - 1) / threads);
    launch_kernel("scale_gradient", scale_kernel<T, pack()>, {blocks, threads}, x, factor, n, are_aligned(x));
  });
}

inline void add_scaled_gradient(Op<ScaledGradientCall>& op) {
  add_strided_kernels(op, "in place", scale_gradient<float>, scale_gradient<double>, scale_gradient<bf16>);
}

}  // namespace headroom::engine::cuda
