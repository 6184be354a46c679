#pragma once
#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <utility>

#include "engine/context.h"
#include "engine/cuda/check.h"
#include "tests/cuda/emulator/launch.h"

// How the libraries of a GPU's vendor are served: their work is queued on the context's stream and done by the CPU.
namespace headroom::engine::cuda::emulator {

/// Throws Error unless it is null or an address of the device, as a library would read something else there.
inline void demand_device(const char* call, const void* address) {
  if (!address) return;
  cudaPointerAttributes found{};
  if (cudaPointerGetAttributes(&found, address) != cudaSuccess || found.type != cudaMemoryTypeDevice)
    device_failure(call, __FILE__, __LINE__, "an operand does not lie on the device");
}

/// Queues the work in the context that the calling thread has now.
inline void enqueue_here(const char* call, std::function<void()> work) {
  const Context here = context();
  HEADROOM_CUDA(enqueue(static_cast<cudaStream_t>(here.stream), call, [here, todo = std::move(work)] {
    const ContextScope scope(here);
    todo();
  }));
}

}  // namespace headroom::engine::cuda::emulator
