#pragma once
#include <source_location>

namespace headroom::engine::cuda::emulator {

/// What a warp does together: its name ("__shfl_sync") and where it stands in the kernel.
struct Collective {
  const char* name;
  std::source_location where;
};

/// What the lanes of a warp brought along: payload[i] is lane i's, null for lanes outside the mask.
struct Lanes {
  void* payload[32];
  /// Ends the kernel: `lane` reads `source`, which takes no part.
  [[noreturn]] void read_outside(int lane, int source) const;
};

/// The calling thread's lane in its warp: [0, 32).
int lane();

/// Waits until all lanes of `mask` are here, each with a payload of its own; the last runs `combine` on all payloads,
/// which it may read and change, then all go on. All shuffles, votes and matrix operations of a warp are made of it.
/// Lanes of the mask that have returned, do not exist, or wait elsewhere end the kernel with an error.
void warp_collective(unsigned mask, void* payload, const Collective& what, void (*combine)(Lanes&));

}  // namespace headroom::engine::cuda::emulator
