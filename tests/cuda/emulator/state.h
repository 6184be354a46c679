#pragma once
#include <cuda_runtime_api.h>

#include <mutex>
#include <string>

#include "tests/cuda/emulator/random.h"

namespace headroom::engine::cuda::emulator {

/// What all functions of the runtime share. Each of them begins with an Entry, which holds the lock.
struct State {
  std::recursive_mutex mutex;
  Random random;
  cudaError_t sticky = cudaSuccess;  ///< the error after which the card does nothing more
  std::string explanation;           ///< what cudaGetErrorString adds to the text of `explained`
  cudaError_t explained = cudaSuccess;
  State();
};
State& state();

/// A call of the runtime: takes the lock, injects faults (card.h), and knows whether the card still works.
class Entry {
 public:
  explicit Entry(const char* function);
  /// Whether the call must return error() at once.
  bool failed() const { return error_ != cudaSuccess; }
  cudaError_t error() const { return error_; }

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  cudaError_t error_;
};

/// Remembers the error for cudaGetLastError() and returns it. With a text, cudaGetErrorString() adds that.
cudaError_t report(cudaError_t error, const std::string& explanation = {});
/// The same, and all later calls fail with it: the context is lost, as after a kernel's error on a GPU.
cudaError_t lose_card(cudaError_t error, const std::string& explanation);

}  // namespace headroom::engine::cuda::emulator

/// Begins a function of the runtime, which returns at once where the card is lost or a fault is injected.
#define HEADROOM_CUDA_ENTER                                        \
  const ::headroom::engine::cuda::emulator::Entry entry(__func__); \
  if (entry.failed()) return ::headroom::engine::cuda::emulator::report(entry.error())
