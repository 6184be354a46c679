#include "engine/cuda/runtime.h"

#include <cuda_runtime.h>

#include <exception>

#include "engine/context.h"
#include "engine/cuda/blas.h"
#include "engine/cuda/check.h"
#include "engine/cuda/graph.h"
#include "engine/cuda/staging.h"

namespace headroom::engine::cuda {

/// See sdpa.h; null in a build without cuDNN.
[[gnu::weak]] const std::string& sdpa_status();
[[gnu::weak]] bool sdpa_is_off();

namespace {

/// Kernels are compiled for 8.0 and later; the newest that this program was made for.
constexpr int least_major = 8, newest_major = 12;

/// Compiled as every other kernel is, so that it is there on a GPU where they are.
__global__ void any_kernel() {}

cudaStream_t current() { return static_cast<cudaStream_t>(context().stream); }

void copy(Device to, void* destination, Device from, const void* source, size_t bytes) {
  if (to.is_cpu() || from.is_cpu()) refuse_in_capture("a copy between host and device");
  if (to.is_cpu()) return download(destination, source, bytes, current());
  if (from.is_cpu()) return upload(destination, source, bytes, current());
  HEADROOM_CUDA(cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDeviceToDevice, current()));
}

void fill(void* destination, int byte, size_t bytes) {
  HEADROOM_CUDA(cudaMemsetAsync(destination, byte, bytes, current()));
}

/// 12020 as "12.2".
std::string dotted(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

int driver_version() {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess) cudaGetLastError();
  return version;
}

int runtime_version() {
  int version = 0;
  if (cudaRuntimeGetVersion(&version) != cudaSuccess) cudaGetLastError();
  return version;
}

/// Why there is no GPU to work with.
std::string absence(cudaError_t code) {
  cudaGetLastError();
  const int driver = driver_version();
  if (driver == 0) return "no GPU: there is no NVIDIA driver";
  if (code == cudaErrorInsufficientDriver)
    return "no GPU: the NVIDIA driver is for CUDA " + dotted(driver) + " and this program for CUDA " +
           dotted(runtime_version()) + ": update the driver";
  return std::string("no GPU: ") + cudaGetErrorString(code);
}

/// Why the program's kernels do not run there.
std::string without_code(cudaError_t code) {
  cudaGetLastError();
  return "this program has code for " HEADROOM_GPU_ARCHITECTURES " (Meson option gpu_architectures): " +
         std::string(cudaGetErrorString(code));
}

std::string capability(const cudaDeviceProp& gpu) {
  return std::string(gpu.name) + ", compute capability " + std::to_string(gpu.major) + "." + std::to_string(gpu.minor);
}

/// Doctor goes on where the library does not start.
std::string epilogues() {
  try {
    return blas_epilogues();
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

std::string start() {
  set_cuda_facts(facts);
  int count = 0;
  cudaDeviceProp gpu{};
  cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count == 0) code = cudaErrorNoDevice;
  if (code == cudaSuccess) code = cudaGetDeviceProperties(&gpu, 0);
  if (code != cudaSuccess) return absence(code);
  if (gpu.major < least_major || gpu.major > newest_major)
    return "no GPU that fits: " + capability(gpu) + "; kernels are for " + std::to_string(least_major) + ".0 to " +
           std::to_string(newest_major) + ".x";
  cudaFuncAttributes attributes{};
  code = cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(any_kernel));
  if (code != cudaSuccess) return "no GPU that fits: " + capability(gpu) + "; " + without_code(code);
  register_device(Device::Kind::cuda,
                  {memory_source(), copy, fill, strided_copy, convert, fill_elements, queues(), times(), count});
  return capability(gpu) + ", " + std::to_string(gpu.totalGlobalMem >> 30) + " GiB";
}

Facts facts() {
  const int driver = driver_version();
  Facts found{{"CUDA driver", driver == 0 ? std::string("absent") : "for CUDA " + dotted(driver)},
              {"CUDA toolkit", dotted(runtime_version()) + " (built with " + dotted(CUDART_VERSION) + ", code for " +
                                   HEADROOM_GPU_ARCHITECTURES + ")"},
              {"cuDNN", sdpa_status ? sdpa_status() + (sdpa_is_off() ? "; off (HEADROOM_CUDNN)" : "")
                                    : "not built in: attention runs on kernels of our own"}};
  if (has_device(Device::Kind::cuda)) found.emplace_back("cuBLASLt", epilogues());
  return found;
}

}  // namespace headroom::engine::cuda
