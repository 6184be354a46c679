#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>

namespace headroom::engine::cuda {

/// Copies from ordinary host memory to the GPU in the order of the stream. The source may be written to again at once:
/// it goes through pinned memory, from where the copy runs while the host goes on.
void upload(void* destination, const void* source, size_t bytes, cudaStream_t stream);
/// Copies to ordinary host memory, in the order of the stream, and waits until it is there.
void download(void* destination, const void* source, size_t bytes, cudaStream_t stream);

}  // namespace headroom::engine::cuda
