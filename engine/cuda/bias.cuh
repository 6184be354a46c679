#pragma once
#include "engine/cuda/launch.cuh"
#include "engine/cuda/number.cuh"
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

/// y (rows, width), rows of stride 1, += bias (width), for products that the library cannot add it to.
inline void add_bias(const Tensor& y, const Tensor& bias) {
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    launch("add_bias", y.numel(), AddBias<T>{y.mutable_data<T>(), bias.data<T>(), bias.dim(0), y.strides()[0]});
  };
  if (y.dtype() == DType::bf16) return run(bf16{});
  y.dtype() == DType::f32 ? run(float{}) : run(double{});
}

/// A product over nothing.
inline void fill_zero(const Tensor& y) { copy_inplace(y, Tensor::zeros(y.shape(), y.dtype(), y.device())); }

}  // namespace headroom::engine::cuda
