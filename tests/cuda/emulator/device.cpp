#include <cuda_runtime_api.h>

#include "tests/cuda/emulator/card.h"
#include "tests/cuda/emulator/queue.h"
#include "tests/cuda/emulator/state.h"

using namespace headroom::engine::cuda::emulator;

cudaError_t cudaDriverGetVersion(int* version) {
  *version = card().driver;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = card().runtime;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  HEADROOM_CUDA_ENTER;
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  HEADROOM_CUDA_ENTER;
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  HEADROOM_CUDA_ENTER;
  return device == 0 ? cudaSuccess : report(cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  HEADROOM_CUDA_ENTER;
  if (device != 0) return report(cudaErrorInvalidDevice);
  *properties = card().properties();
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  HEADROOM_CUDA_ENTER;
  if (device != 0) return report(cudaErrorInvalidDevice);
  const cudaDeviceProp p = card().properties();
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = p.maxThreadsPerBlock;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = static_cast<int>(p.sharedMemPerBlock);
      return cudaSuccess;
    case cudaDevAttrWarpSize:
      *value = p.warpSize;
      return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      *value = p.multiProcessorCount;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      *value = p.major;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = p.minor;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = static_cast<int>(p.sharedMemPerMultiprocessor);
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(p.sharedMemPerBlockOptin);
      return cudaSuccess;
  }
  return report(cudaErrorInvalidValue);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  HEADROOM_CUDA_ENTER;
  attributes->binaryVersion = attributes->ptxVersion = 10 * card().major + card().minor;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute attribute, int value) {
  HEADROOM_CUDA_ENTER;
  const bool fits = attribute != cudaFuncAttributeMaxDynamicSharedMemorySize ||
                    (value >= 0 && static_cast<size_t>(value) <= card().shared_bytes());
  return fits ? cudaSuccess : report(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceSynchronize() {
  HEADROOM_CUDA_ENTER;
  if (const cudaError_t error = forbid_in_capture(__func__); error != cudaSuccess) return error;
  return drain_all();
}
