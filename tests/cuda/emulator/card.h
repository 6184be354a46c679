#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

namespace headroom::engine::cuda::emulator {

/// The GPU that is emulated. All of it can be set by environment variables, read at the first call.
struct Card {
  int major = 9, minor = 0;             ///< HEADROOM_CUDA_CAPABILITY, "8.6"
  size_t memory = size_t{8} << 30;      ///< HEADROOM_CUDA_MEMORY, bytes
  uint64_t seed = 0;                    ///< HEADROOM_CUDA_SEED: the order of threads, blocks and streams
  int driver = 13000, runtime = 13000;  ///< as cudaDriverGetVersion gives them; the fault decides the first
  size_t shared_bytes() const;          ///< most of a block
  cudaDeviceProp properties() const;
};
const Card& card();

/// What HEADROOM_CUDA_FAULT breaks; called by each function of the runtime with its name.
/// "no-driver": the driver's version is 0, and everything else says that it is insufficient. "old-driver": the same
/// with version 12.1. "no-device": a driver without a card. "lost:N": the card falls off the bus at the N-th call that
/// uses it, and stays away. "fail:NAME:N": the N-th call of that function has no memory. "no-code": the program has no
/// kernels for the card.
cudaError_t injected_fault(const char* function);

/// Whether HEADROOM_CUDA_REFUSES, words with commas between them, has this one: what the emulated libraries refuse.
bool refuses(const char* what);

}  // namespace headroom::engine::cuda::emulator
