#include "tests/cuda/emulator/card.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace headroom::engine::cuda::emulator {
namespace {

const std::string& fault() {
  static const std::string kind = std::getenv("HEADROOM_CUDA_FAULT") ? std::getenv("HEADROOM_CUDA_FAULT") : "";
  return kind;
}

Card read_card() {
  Card card;
  if (fault() == "no-driver") card.driver = 0;
  if (fault() == "old-driver") card.driver = 12010;
  if (const char* text = std::getenv("HEADROOM_CUDA_CAPABILITY")) std::sscanf(text, "%d.%d", &card.major, &card.minor);
  if (const char* text = std::getenv("HEADROOM_CUDA_MEMORY")) card.memory = std::strtoull(text, nullptr, 10);
  if (const char* text = std::getenv("HEADROOM_CUDA_SEED")) card.seed = std::strtoull(text, nullptr, 10);
  const std::string fault = std::getenv("HEADROOM_CUDA_FAULT") ? std::getenv("HEADROOM_CUDA_FAULT") : "";
  if (fault == "no-driver") card.driver = 0;
  if (fault == "old-driver") card.driver = 11080;
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
  const std::string& kind = fault();
  if (kind.empty() || std::strstr(function, "GetVersion")) return cudaSuccess;
  if (kind == "no-driver" || kind == "old-driver") return cudaErrorInsufficientDriver;
  if (kind == "no-device") return cudaErrorNoDevice;
  if (kind == "no-code")
    return std::strcmp(function, "cudaFuncGetAttributes") == 0 ? cudaErrorNoKernelImageForDevice : cudaSuccess;
  static long calls = 0;
  const size_t colon = kind.rfind(':');
  const long wanted = std::atol(kind.c_str() + colon + 1);
  if (kind.rfind("lost:", 0) == 0 && std::strncmp(function, "cudaGetDevice", 13) != 0)
    return ++calls >= wanted ? cudaErrorUnknown : cudaSuccess;
  if (kind.rfind("fail:", 0) == 0 && kind.compare(5, colon - 5, function) == 0)
    return ++calls == wanted ? cudaErrorMemoryAllocation : cudaSuccess;
  return cudaSuccess;
}

bool refuses(const char* what) {
  static const std::string all = [] {
    const char* text = std::getenv("HEADROOM_CUDA_REFUSES");
    return "," + std::string(text ? text : "") + ",";
  }();
  return all.find("," + std::string(what) + ",") != std::string::npos;
}

}  // namespace headroom::engine::cuda::emulator
