#include "engine/cuda/runtime.h"

#include <cuda_runtime_api.h>

#include "engine/context.h"
#include "engine/cuda/check.h"
#include "engine/transfer.h"

namespace headroom::engine::cuda {
namespace {

/// Null when there is no memory: the caching allocator then empties its cache and asks again.
void* acquire(size_t bytes) {
  void* block = nullptr;
  if (cudaMalloc(&block, bytes) == cudaSuccess) return block;
  cudaGetLastError();  // forget the failure, or the next launch would report it
  return nullptr;
}

void release(void* block, size_t) { cudaFree(block); }

void copy(Device to, void* destination, Device from, const void* source, size_t bytes) {
  const cudaMemcpyKind kind = to.is_cpu()     ? cudaMemcpyDeviceToHost
                              : from.is_cpu() ? cudaMemcpyHostToDevice
                                              : cudaMemcpyDeviceToDevice;
  const auto stream = static_cast<cudaStream_t>(context().stream);
  HEADROOM_CUDA(cudaMemcpyAsync(destination, source, bytes, kind, stream));
  if (kind != cudaMemcpyDeviceToDevice) HEADROOM_CUDA(cudaStreamSynchronize(stream));
}

void fill(void* destination, int byte, size_t bytes) {
  HEADROOM_CUDA(cudaMemsetAsync(destination, byte, bytes, static_cast<cudaStream_t>(context().stream)));
}

}  // namespace

std::string start() {
  int count = 0;
  cudaDeviceProp gpu{};
  cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count == 0) code = cudaErrorNoDevice;
  if (code == cudaSuccess) code = cudaGetDeviceProperties(&gpu, 0);
  if (code != cudaSuccess) {
    cudaGetLastError();
    return std::string("no GPU: ") + cudaGetErrorString(code);
  }
  register_device(Device::Kind::cuda, {{acquire, release}, copy, fill, strided_copy, convert, fill_elements});
  return std::string(gpu.name) + ", compute capability " + std::to_string(gpu.major) + "." + std::to_string(gpu.minor) +
         ", " + std::to_string(gpu.totalGlobalMem >> 30) + " GiB";
}

}  // namespace headroom::engine::cuda
