#pragma once
#include <cuda_runtime_api.h>

namespace headroom::engine {

/// Throws Error with a vendor call that failed, its place and the reason. (A function, because nvcc cannot read fmt.)
[[noreturn]] void device_failure(const char* call, const char* file, int line, const char* reason);

namespace cuda {

/// Throws Error naming the kernel unless its launch was accepted.
inline void check_launch(const char* kernel, cudaError_t code) {
  if (code != cudaSuccess) device_failure(kernel, __FILE__, __LINE__, cudaGetErrorString(code));
}

}  // namespace cuda
}  // namespace headroom::engine

/// Runs a call of the CUDA runtime and throws Error unless it returns success.
#define HEADROOM_CUDA(call)                                                                    \
  do {                                                                                         \
    if (const cudaError_t code = (call); code != cudaSuccess)                                  \
      ::headroom::engine::device_failure(#call, __FILE__, __LINE__, cudaGetErrorString(code)); \
  } while (false)
