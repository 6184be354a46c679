#include "tests/cuda/emulator/launch.h"

#include <cstring>

#include "engine/error.h"
#include "tests/cuda/emulator/card.h"
#include "tests/cuda/emulator/memory.h"
#include "tests/cuda/emulator/queue.h"
#include "tests/cuda/emulator/state.h"

namespace headroom::engine::cuda::emulator {
namespace {

/// What is wrong with the shape of a launch, or nothing.
std::string check_shape(const Kernel& kernel) {
  const cudaDeviceProp p = card().properties();
  const dim3 &b = kernel.blocks, &t = kernel.threads;
  const auto beyond = [](unsigned n, int most) { return n == 0 || n > static_cast<unsigned>(most); };
  if (beyond(t.x, p.maxThreadsDim[0]) || beyond(t.y, p.maxThreadsDim[1]) || beyond(t.z, p.maxThreadsDim[2]) ||
      size_t{t.x} * t.y * t.z > static_cast<size_t>(p.maxThreadsPerBlock))
    return fmt::format("kernel {}: ({}, {}, {}) threads in a block", kernel.name, t.x, t.y, t.z);
  if (beyond(b.x, p.maxGridSize[0]) || beyond(b.y, p.maxGridSize[1]) || beyond(b.z, p.maxGridSize[2]))
    return fmt::format("kernel {}: ({}, {}, {}) blocks", kernel.name, b.x, b.y, b.z);
  if (kernel.shared_bytes > p.sharedMemPerBlockOptin)
    return fmt::format("kernel {}: {} bytes of shared memory, of {}", kernel.name, kernel.shared_bytes,
                       p.sharedMemPerBlockOptin);
  return {};
}

/// What is wrong with a word of an argument, should it be a pointer.
std::string check_pointer(const char* word) {
  if (is_device(word)) return explain_range(word, 0);
  return is_host(word) ? "host pointer" : "";
}

std::string check_arguments(const Kernel& kernel, std::span<const Argument> arguments) {
  for (size_t n = 0; n < arguments.size(); ++n)
    for (size_t at = 0; at + sizeof(char*) <= arguments[n].bytes; at += sizeof(char*)) {
      const char* word = nullptr;
      std::memcpy(&word, static_cast<const char*>(arguments[n].data) + at, sizeof word);
      const std::string problem = check_pointer(word);
      if (!problem.empty()) return fmt::format("{} passed to kernel {}, argument {}", problem, kernel.name, n + 1);
    }
  return {};
}

}  // namespace

cudaError_t enqueue_kernel(Kernel kernel, std::span<const Argument> arguments, cudaStream_t stream) {
  HEADROOM_CUDA_ENTER;
  if (const std::string problem = check_shape(kernel); !problem.empty())
    return report(cudaErrorInvalidConfiguration, problem);
  if (const std::string problem = check_arguments(kernel, arguments); !problem.empty())
    return lose_card(cudaErrorIllegalAddress, problem);
  const std::string name = kernel.name;
  return put(stream, name, [kernel = std::move(kernel)] {
    run(kernel, state().random);
    const std::string damage = damaged_guard();
    require(damage.empty(), "kernel {} {}", kernel.name, damage);
  });
}

cudaError_t enqueue(cudaStream_t stream, const std::string& name, std::function<void()> work) {
  HEADROOM_CUDA_ENTER;
  return put(stream, name, std::move(work));
}

}  // namespace headroom::engine::cuda::emulator
