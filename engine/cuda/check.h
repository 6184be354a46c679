#pragma once
#include <cuda_runtime_api.h>

#include "engine/device_op.h"

/// Runs a call of the CUDA runtime and throws Error unless it returns success.
#define HEADROOM_CUDA(call)                                                                    \
  do {                                                                                         \
    if (const cudaError_t code = (call); code != cudaSuccess)                                  \
      ::headroom::engine::device_failure(#call, __FILE__, __LINE__, cudaGetErrorString(code)); \
  } while (false)
