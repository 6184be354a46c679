#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>

namespace headroom::engine::cuda {

/// Copies ordinary host memory to the GPU in stream order. The source may be overwritten at once: the copy runs from
/// pinned memory while the host goes on.
void upload(void* destination, const void* source, size_t bytes, cudaStream_t stream);
/// Copies to ordinary host memory in stream order, and waits until it is there.
void download(void* destination, const void* source, size_t bytes, cudaStream_t stream);

}  // namespace headroom::engine::cuda
