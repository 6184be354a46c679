#pragma once
#include <cstdint>
#include <optional>

namespace headroom::experiments {

/// How busy this machine is.
struct MachineLoad {
  std::optional<double> load;  ///< runnable processes, mean of the last minute
  int cores = 1;
  uint64_t memory_total = 0, memory_free = 0;  ///< bytes; 0 where the system does not say
};

MachineLoad machine_load();

}  // namespace headroom::experiments
