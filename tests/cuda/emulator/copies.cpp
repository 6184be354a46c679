#include <cstring>
#include <vector>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/lend_block.h"
#include "tests/cuda/emulator/card.h"
#include "tests/cuda/emulator/memory.h"
#include "tests/cuda/emulator/queue.h"
#include "tests/cuda/emulator/state.h"

using namespace headroom::engine::cuda::emulator;

namespace {

/// What the copy does to one side, or why it cannot.
std::string check_side(const char* side, const void* address, size_t bytes, bool wants_device) {
  if (is_device(address) != wants_device)
    return fmt::format("the {} of the copy is {} memory", side, wants_device ? "host" : "device");
  if (!wants_device) return {};
  const std::string problem = explain_range(address, bytes);
  return problem.empty() ? problem : fmt::format("the {} of the copy: {}", side, problem);
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  const bool to_device =
      kind == cudaMemcpyDefault ? is_device(to) : kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device =
      kind == cudaMemcpyDefault ? is_device(from) : kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  for (const std::string& problem :
       {check_side("destination", to, bytes, to_device), check_side("source", from, bytes, from_device)})
    if (!problem.empty()) return report(cudaErrorInvalidValue, problem);
  const bool pageable = (!to_device && !is_pinned(to)) || (!from_device && !is_pinned(from));
  if (pageable)
    if (const cudaError_t error = forbid_in_capture(stream, "a copy from or to pageable host memory");
        error != cudaSuccess)
      return error;
  // CUDA stages what it reads from pageable memory before it returns, and waits for what it writes there.
  if (!from_device && !is_pinned(from)) {
    const char* bytes_of = static_cast<const char*>(from);
    return put(stream, "cudaMemcpy", [to, staged = std::vector<char>(bytes_of, bytes_of + bytes)] {
      std::memcpy(to, staged.data(), staged.size());
    });
  }
  const cudaError_t error = put(stream, "cudaMemcpy", [=] { std::memmove(to, from, bytes); });
  return error != cudaSuccess || !pageable ? error : drain(stream);
}

}  // namespace

cudaError_t cudaMalloc(void** block, size_t bytes) {
  HEADROOM_CUDA_ENTER;
  *block = nullptr;
  if (const cudaError_t error = forbid_in_capture(__func__); error != cudaSuccess) return error;
  if (bytes == 0) return cudaSuccess;
  *block = allocate_device(bytes);
  return *block ? cudaSuccess : report(cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void* block) {
  HEADROOM_CUDA_ENTER;
  if (!block) return cudaSuccess;
  if (const cudaError_t error = forbid_in_capture(__func__); error != cudaSuccess) return error;
  if (const cudaError_t error = drain_all(); error != cudaSuccess) return error;
  return free_device(block) ? cudaSuccess : report(cudaErrorInvalidValue, "cudaFree of what cudaMalloc did not give");
}

void headroom_lend_block(void* block, size_t bytes) {
  const Entry entry(__func__);
  if (!entry.failed())
    put(static_cast<cudaStream_t>(headroom::engine::context().stream), "block lent",
        [=] { lend_device(block, bytes); });
}

cudaError_t cudaHostAlloc(void** block, size_t bytes, unsigned) {
  HEADROOM_CUDA_ENTER;
  *block = nullptr;
  if (const cudaError_t error = forbid_in_capture(__func__); error != cudaSuccess) return error;
  *block = allocate_pinned(bytes);
  return *block ? cudaSuccess : report(cudaErrorMemoryAllocation);
}

cudaError_t cudaMallocHost(void** block, size_t bytes) { return cudaHostAlloc(block, bytes, cudaHostAllocDefault); }

cudaError_t cudaFreeHost(void* block) {
  HEADROOM_CUDA_ENTER;
  if (!block) return cudaSuccess;
  if (const cudaError_t error = forbid_in_capture(__func__); error != cudaSuccess) return error;
  if (const cudaError_t error = drain_all(); error != cudaSuccess) return error;
  return free_pinned(block) ? cudaSuccess : report(cudaErrorInvalidValue);
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  HEADROOM_CUDA_ENTER;
  *total = card().memory;
  *free = card().memory - device_bytes_in_use();
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  HEADROOM_CUDA_ENTER;
  auto* p = const_cast<void*>(pointer);
  if (is_device(pointer)) {
    *attributes = {cudaMemoryTypeDevice, 0, p, nullptr};
  } else if (is_pinned(pointer)) {
    *attributes = {cudaMemoryTypeHost, 0, p, p};
  } else {
    *attributes = {cudaMemoryTypeUnregistered, -1, nullptr, p};
  }
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  HEADROOM_CUDA_ENTER;
  return copy(to, from, bytes, kind, stream);
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  HEADROOM_CUDA_ENTER;
  if (const cudaError_t error = forbid_in_capture(__func__); error != cudaSuccess) return error;
  const cudaError_t error = copy(to, from, bytes, kind, nullptr);
  return error != cudaSuccess ? error : drain(cudaStream_t{});
}

cudaError_t cudaMemsetAsync(void* to, int byte, size_t bytes, cudaStream_t stream) {
  HEADROOM_CUDA_ENTER;
  if (bytes == 0) return cudaSuccess;
  const std::string problem = check_side("destination", to, bytes, true);
  if (!problem.empty()) return report(cudaErrorInvalidValue, problem);
  return put(stream, "cudaMemset", [=] { std::memset(to, byte, bytes); });
}

cudaError_t cudaMemset(void* to, int byte, size_t bytes) { return cudaMemsetAsync(to, byte, bytes, nullptr); }
