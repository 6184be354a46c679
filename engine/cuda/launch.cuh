#pragma once
#include <cstdint>

#include "engine/context.h"
#include "engine/cuda/check.h"
#include "engine/shape.h"

namespace headroom::engine::cuda {

/// A Shape (or strides) that travels to the GPU as a kernel's argument.
struct Dims {
  int64_t value[Shape::max_rank];
  int rank;

  explicit Dims(const Shape& shape) : value{}, rank(shape.rank()) {
    for (int axis = 0; axis < rank; ++axis) value[axis] = shape[axis];
  }
};

/// Where element i of a row-major walk over `shape` lies in a tensor of these strides.
__device__ inline int64_t offset_of(int64_t i, const Dims& shape, const Dims& strides) {
  int64_t offset = 0;
  for (int axis = shape.rank - 1; axis >= 0; --axis) {
    offset += i % shape.value[axis] * strides.value[axis];
    i /= shape.value[axis];
  }
  return offset;
}

template <class F>
__global__ void each_element(int64_t n, F f) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) f(i);
}

/// The queue that the context names.
inline cudaStream_t stream() { return static_cast<cudaStream_t>(context().stream); }

/// Calls f(i) on the GPU for every i in [0, n), on the context's stream. F is a function object that is copied there.
template <class F>
void launch(int64_t n, const F& f) {
  if (n == 0) return;
  constexpr int64_t threads = 256, most_blocks = 65536;
  const int64_t blocks = (n + threads - 1) / threads;
  each_element<<<static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks), threads, 0, stream()>>>(n, f);
  HEADROOM_CUDA(cudaGetLastError());
}

}  // namespace headroom::engine::cuda
