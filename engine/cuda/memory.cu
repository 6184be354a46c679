#include <memory>

#include "engine/cuda/event.h"
#include "engine/cuda/graph.h"
#include "engine/cuda/runtime.h"

namespace headroom::engine::cuda {
namespace {

/// Null if memory is short: the caching allocator then empties its cache and asks again.
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

/// An event of the mark's own, or the one that a capture began with.
struct Mark {
  cudaEvent_t own = nullptr;
  std::shared_ptr<const Event> shared;
  ~Mark() {
    if (own) cudaEventDestroy(own);
  }
};

/// Called where nothing may be thrown: null after an error, which the next call will report. While the stream captures,
/// what it has queued is what it had before: the captured work has not run, and replays it on memory of its own.
void* mark(void* stream) {
  auto made = std::make_unique<Mark>();
  made->shared = Capture::beginning(static_cast<cudaStream_t>(stream));
  if (made->shared) return made.release();
  if (cudaEventCreateWithFlags(&made->own, cudaEventDisableTiming) != cudaSuccess) return nullptr;
  if (cudaEventRecord(made->own, static_cast<cudaStream_t>(stream)) != cudaSuccess) return nullptr;
  return made.release();
}

void wait(void* stream, void* mark) {
  if (!mark) return;
  const auto* const point = static_cast<const Mark*>(mark);
  const cudaEvent_t event = point->shared ? point->shared->get() : point->own;
  HEADROOM_CUDA(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), event, 0));
}

void forget(void* mark) { delete static_cast<Mark*>(mark); }

std::pair<int64_t, int64_t> room() {
  size_t free = 0, all = 0;
  if (cudaMemGetInfo(&free, &all) != cudaSuccess) cudaGetLastError();
  return {static_cast<int64_t>(free), static_cast<int64_t>(all)};
}

}  // namespace

MemorySource memory_source() { return {acquire, release, mark, wait, forget, room}; }

}  // namespace headroom::engine::cuda
