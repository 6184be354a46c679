#pragma once
#include <functional>
#include <source_location>
#include <string>
#include <vector>

#include "tests/cuda/emulator/device/vectors.h"
#include "tests/cuda/emulator/random.h"

namespace headroom::engine::cuda::emulator {

/// One launch.
struct Kernel {
  std::string name;
  dim3 blocks, threads;
  size_t shared_bytes;
  std::function<void()> thread;  ///< what each thread runs; it finds itself by threadIdx and blockIdx
};

/// Runs all blocks, one after another, in an order drawn from `random`; within a block the threads run from barrier to
/// barrier, in an order drawn anew each time, or one warp after another as far as each gets. Throws Error that names
/// kernel, block, thread and source line when threads wait for each other forever or at different barriers, and when a
/// thread throws. The caller holds the emulator's lock.
void run(const Kernel& kernel, Random& random);

/// The dynamic shared memory of the block that runs: 128-byte aligned, filled with ones (NaN) when the block starts.
void* dynamic_shared_memory();

}  // namespace headroom::engine::cuda::emulator
