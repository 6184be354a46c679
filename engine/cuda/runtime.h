#pragma once
#include <string>

#include "engine/tensor.h"
#include "engine/transfer.h"

namespace headroom::engine::cuda {

/// Offers GPU 0 to tensors (see transfer.h) if this machine has one that works, and reports it: "NVIDIA H200, compute
/// capability 9.0, 139 GiB", or why there is none. Never throws: a machine without a GPU is not an error.
std::string start();

/// Memory of the GPU, with events between streams: see MemorySource.
MemorySource memory_source();
/// Streams and captured graphs.
DeviceQueues queues();
/// Timed events and NVTX ranges.
DeviceTimes times();
/// (what, found) for `headroom doctor`.
Facts facts();

/// destination[...] = source[...], both on the GPU, same shape and dtype, any strides.
void strided_copy(const Tensor& destination, const Tensor& source);
/// Converts the source to the destination's dtype; the destination is contiguous.
void convert(const Tensor& destination, const Tensor& source);
/// Fills a contiguous tensor with the element at `element`, on the host.
void fill_elements(const Tensor& y, const void* element);

}  // namespace headroom::engine::cuda
