#include <memory>

#include "engine/cuda/event.h"
#include "engine/cuda/graph.h"
#include "engine/cuda/runtime.h"

namespace headroom::engine::cuda {
namespace {

/// Null when there is no memory: the caching allocator then empties its cache and asks again.
void* acquire(size_t bytes) {
  refuse_in_capture("memory that no earlier step has asked for");
  void* block = nullptr;
  const cudaError_t code = cudaMalloc(&block, bytes);
  if (code == cudaSuccess) return block;
  if (code != cudaErrorMemoryAllocation) cuda_failure(code, "cudaMalloc", __FILE__, __LINE__);
  cudaGetLastError();  // forget the failure, or the next launch would report it
  return nullptr;
}

/// Waits for the device, and so for whatever still uses the block.
void release(void* block, size_t) { cudaFree(block); }

/// Called where nothing may be thrown: null after an error, which the next call will report.
void* mark(void* stream) {
  cudaEvent_t event = nullptr;
  if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess) return nullptr;
  if (cudaEventRecord(event, static_cast<cudaStream_t>(stream)) == cudaSuccess) return event;
  cudaEventDestroy(event);
  return nullptr;
}

void wait(void* stream, void* mark) {
  if (mark) HEADROOM_CUDA(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), static_cast<cudaEvent_t>(mark), 0));
}

void forget(void* mark) {
  if (mark) cudaEventDestroy(static_cast<cudaEvent_t>(mark));
}

std::pair<int64_t, int64_t> room() {
  size_t free = 0, all = 0;
  if (cudaMemGetInfo(&free, &all) != cudaSuccess) cudaGetLastError();
  return {static_cast<int64_t>(free), static_cast<int64_t>(all)};
}

}  // namespace

MemorySource memory_source() { return {acquire, release, mark, wait, forget, room}; }

}  // namespace headroom::engine::cuda
