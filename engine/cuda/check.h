#pragma once
#include <cuda_runtime_api.h>

namespace headroom::engine {

/// Throws Error with a failed vendor call, its place and the reason. (A function, because nvcc cannot read fmt.)
[[noreturn]] void device_failure(const char* call, const char* file, int line, const char* reason);

namespace cuda {

/// Throws Error with a failed call of the CUDA runtime, its place and the reason. After an error from which the GPU
/// cannot recover within the process, the first message says so, naming the last kernel launched, and device_is_lost()
/// is true from then on.
[[noreturn]] void cuda_failure(cudaError_t code, const char* call, const char* file, int line);

/// The last kernel this process launched; null before the first.
const char* last_kernel();
void set_last_kernel(const char* name);

/// Throws Error naming the kernel unless its launch was accepted.
inline void check_launch(const char* kernel, cudaError_t code) {
  if (code != cudaSuccess) cuda_failure(code, kernel, __FILE__, __LINE__);
}

}  // namespace cuda
}  // namespace headroom::engine

/// Runs a call of the CUDA runtime and throws Error unless it returns success.
#define HEADROOM_CUDA(call)                                                             \
  do {                                                                                  \
    if (const cudaError_t headroom_code = (call); headroom_code != cudaSuccess)         \
      ::headroom::engine::cuda::cuda_failure(headroom_code, #call, __FILE__, __LINE__); \
  } while (false)
