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
  int driver = 13000, runtime = 13000;  ///< as cudaDriverGetVersion gives them
  size_t shared_bytes() const;          ///< most of a block
  cudaDeviceProp properties() const;
};
const Card& card();

/// HEADROOM_CUDA_FAULT makes calls fail: "no-driver" and "old-driver" (both at the first), "no-device", or "lost:N":
/// the card falls off the bus at the N-th call after it was found, and stays away. Called by each function of the
/// runtime.
cudaError_t injected_fault(const char* function);

}  // namespace headroom::engine::cuda::emulator
