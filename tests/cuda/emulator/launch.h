#pragma once
#include <cuda_runtime_api.h>

#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>

#include "tests/cuda/emulator/block.h"

// What engine/cuda/launch.cuh calls in place of the CUDA runtime.
namespace headroom::engine::cuda::emulator {

/// The bytes of one argument of a kernel.
struct Argument {
  const void* data;
  size_t bytes;
};

/// Queues the kernel on the stream. cudaErrorInvalidConfiguration: more than 1024 threads, more blocks or more shared
/// memory than the card has. A pointer to host memory among the arguments, and whatever goes wrong while the kernel
/// runs, makes a sticky error whose text (cudaGetErrorString) names kernel and place.
cudaError_t enqueue_kernel(Kernel kernel, std::span<const Argument> arguments, cudaStream_t stream);

/// Queues host work on the stream in the place of a kernel of a vendor's library. It may read and write device memory.
cudaError_t enqueue(cudaStream_t stream, const std::string& name, std::function<void()> work);

template <class... P>
cudaError_t launch(const char* name, void (*kernel)(P...), dim3 blocks, dim3 threads, size_t shared_bytes,
                   cudaStream_t stream, std::type_identity_t<P>... arguments) {
  static_assert((std::is_trivially_copyable_v<P> && ...), "a kernel's arguments are copied to the GPU byte by byte");
  (__builtin_clear_padding(&arguments), ...);  // left-over bytes there may look like pointers
  const Argument bytes[] = {{&arguments, sizeof arguments}..., {nullptr, 0}};
  return enqueue_kernel({name, blocks, threads, shared_bytes,
                         [kernel, values = std::tuple<P...>(arguments...)] { std::apply(kernel, values); }},
                        std::span(bytes, sizeof...(P)), stream);
}

}  // namespace headroom::engine::cuda::emulator
