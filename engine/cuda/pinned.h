#pragma once
#include <cstddef>

#include "engine/cuda/check.h"

namespace headroom::engine::cuda {

/// Host memory that the GPU copies from and to while the host goes on.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(size_t bytes) : bytes_(bytes) { HEADROOM_CUDA(cudaMallocHost(&data_, bytes)); }
  ~PinnedBuffer() { cudaFreeHost(data_); }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

}  // namespace headroom::engine::cuda
