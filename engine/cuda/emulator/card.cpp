#include "engine/cuda/emulator/card.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace headroom::engine::cuda::emulator {
namespace {

Card read_card() {
  Card card;
  if (const char* text = std::getenv("HEADROOM_CUDA_CAPABILITY")) std::sscanf(text, "%d.%d", &card.major, &card.minor);
  if (const char* text = std::getenv("HEADROOM_CUDA_MEMORY")) card.memory = std::strtoull(text, nullptr, 10);
  if (const char* text = std::getenv("HEADROOM_CUDA_SEED")) card.seed = std::strtoull(text, nullptr, 10);
  return card;
}

}  // namespace

const Card& card() {
  static const Card card = read_card();
  return card;
}

// Table "Technical Specifications per Compute Capability" of the CUDA C++ Programming Guide.
size_t Card::shared_bytes() const {
  const bool large = major == 9 || major == 10;
  const bool data_center = large || (major == 8 && minor == 0) || (major == 8 && minor == 7);
  return size_t{large ? 227u : data_center ? 163u : 99u} << 10;
}

cudaDeviceProp Card::properties() const {
  cudaDeviceProp p{};
  std::strcpy(p.name, "Emulated GPU");
  p.totalGlobalMem = memory;
  p.sharedMemPerBlock = size_t{48} << 10;
  p.sharedMemPerBlockOptin = shared_bytes();
  p.sharedMemPerMultiprocessor = shared_bytes() + 1024;
  p.totalConstMem = size_t{64} << 10;
  p.regsPerBlock = p.regsPerMultiprocessor = 65536;
  p.warpSize = 32;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsPerMultiProcessor = 2048;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 2147483647;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.major = major;
  p.minor = minor;
  p.multiProcessorCount = 4;
  p.l2CacheSize = 1 << 20;
  p.memoryBusWidth = 64;
  p.asyncEngineCount = 2;
  p.concurrentKernels = 1;
  return p;
}

cudaError_t injected_fault(const char* function) {
  static const std::string fault = std::getenv("HEADROOM_CUDA_FAULT") ? std::getenv("HEADROOM_CUDA_FAULT") : "";
  if (fault.empty()) return cudaSuccess;
  if (fault == "no-driver" || fault == "old-driver") return cudaErrorInsufficientDriver;
  if (fault == "no-device") return cudaErrorNoDevice;
  static long calls = 0;
  const bool looks = std::strncmp(function, "cudaGetDevice", 13) == 0 || std::strstr(function, "GetVersion");
  if (fault.rfind("lost:", 0) == 0 && !looks && ++calls >= std::atol(fault.c_str() + 5)) return cudaErrorUnknown;
  return cudaSuccess;
}

}  // namespace headroom::engine::cuda::emulator
