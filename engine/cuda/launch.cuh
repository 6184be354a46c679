#pragma once
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <tuple>

#include "engine/context.h"
#include "engine/cuda/check.h"
#include "engine/cuda/table.h"
#include "engine/shape.h"

// The one way to start a kernel, on a GPU and on the emulator: `.cu` files contain no <<<>>> and no conditionals.
namespace headroom::engine::cuda {

/// The context's queue.
inline cudaStream_t stream() { return static_cast<cudaStream_t>(context().stream); }

/// Numbers of blocks or threads along each axis.
struct Extents : dim3 {
  Extents(const dim3& of) : dim3(of) {}
  Extents(int64_t of_x, int64_t of_y = 1, int64_t of_z = 1)
      : dim3(static_cast<unsigned>(of_x), static_cast<unsigned>(of_y), static_cast<unsigned>(of_z)) {}
};

/// Blocks and threads of a launch, and the bytes that dynamic_shared() gives to each block.
struct LaunchShape {
  Extents blocks, threads;
  size_t shared_bytes = 0;
};

/// Queues kernel(arguments...) on the context's stream. `name` appears in error messages, profiles and traces. Launches
/// nothing if there are no blocks. Requests more than 48 KiB of shared memory by itself. Throws Error if the launch is
/// refused.
template <class... P, class... A>
void launch_kernel(const char* name, void (*kernel)(P...), const LaunchShape& shape, const A&... arguments) {
  if (shape.blocks.x == 0 || shape.blocks.y == 0 || shape.blocks.z == 0) return;
  set_last_kernel(name);
#ifdef HEADROOM_CUDA_EMULATED
  check_launch(name, emulator::launch(name, kernel, shape.blocks, shape.threads, shape.shared_bytes, stream(),
                                      static_cast<P>(arguments)...));
#else
  if (shape.shared_bytes > (size_t{48} << 10))
    HEADROOM_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(shape.shared_bytes)));
  std::tuple<P...> values(static_cast<P>(arguments)...);
  const cudaError_t code = std::apply(
      [&](P&... value) {
        void* addresses[] = {static_cast<void*>(&value)..., nullptr};
        return cudaLaunchKernel(kernel, shape.blocks, shape.threads, addresses, shape.shared_bytes, stream());
      },
      values);
  check_launch(name, code);
#endif
}

/// The block's dynamic shared memory, 16-byte aligned; T's destructor is not run.
template <class T>
__device__ inline T* dynamic_shared() {
#ifdef HEADROOM_CUDA_EMULATED
  return static_cast<T*>(emulator::dynamic_shared_memory());
#else
  extern __shared__ __align__(16) unsigned char headroom_dynamic_shared[];
  return reinterpret_cast<T*>(headroom_dynamic_shared);
#endif
}

/// A Shape (or strides) passed to the GPU as a kernel's argument.
struct Dims {
  int64_t value[Shape::max_rank];
  int rank;

  explicit Dims(const Shape& shape) : value{}, rank(shape.rank()) {
    for (int axis = 0; axis < rank; ++axis) value[axis] = shape[axis];
  }
};

/// The offset of element i of a row-major walk over `shape` in a tensor of these strides.
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

/// Calls f(i) on the GPU for every i in [0, n), on the context's stream. F is a function object that is copied there.
template <class F>
void launch(const char* name, int64_t n, const F& f) {
  constexpr int64_t threads = 256, most_blocks = 65536;
  const int64_t blocks = (n + threads - 1) / threads;
  launch_kernel(name, each_element<F>, {blocks < most_blocks ? blocks : most_blocks, threads}, n, f);
}

}  // namespace headroom::engine::cuda
