#include "experiments/program/serve/machine_load.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace headroom::experiments {

MachineLoad machine_load() {
  MachineLoad machine;
  if (double minutes[1]; getloadavg(minutes, 1) == 1) machine.load = minutes[0];
  if (const unsigned cores = std::thread::hardware_concurrency(); cores > 0) machine.cores = static_cast<int>(cores);
  std::ifstream file("/proc/meminfo");
  uint64_t kilobytes = 0;
  for (std::string key, unit; file >> key >> kilobytes;) {
    if (key == "MemTotal:") machine.memory_total = kilobytes << 10;
    if (key == "MemAvailable:") machine.memory_free = kilobytes << 10;
    std::getline(file, unit);
  }
  return machine;
}

}  // namespace headroom::experiments
