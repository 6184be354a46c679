#include "experiments/program/ranks/gpu_of_rank.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "engine/read_number.h"
#include "engine/transfer.h"

namespace headroom::experiments {
namespace {

/// Counts the driver's GPUs without starting CUDA, which would read CUDA_VISIBLE_DEVICES once and for all.
size_t gpus_here() {
  void* const nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (!nvml) return 0;
  const auto start = reinterpret_cast<int (*)()>(dlsym(nvml, "nvmlInit_v2"));
  const auto count = reinterpret_cast<int (*)(unsigned*)>(dlsym(nvml, "nvmlDeviceGetCount_v2"));
  unsigned found = 0;
  return start && count && start() == 0 && count(&found) == 0 ? found : 0;
}

/// The GPUs that this process may use, by their names in CUDA_VISIBLE_DEVICES.
std::vector<std::string> visible_gpus() {
  std::vector<std::string> names;
  if (const char* const text = std::getenv("CUDA_VISIBLE_DEVICES")) {
    const std::string list = text;
    for (size_t at = 0; at < list.size();) {
      const size_t end = std::min(list.find(',', at), list.size());
      names.push_back(list.substr(at, end - at));
      at = end + 1;
    }
  } else {
    for (size_t i = 0, count = gpus_here(); i < count; ++i) names.push_back(std::to_string(i));
  }
  return names;
}

/// This rank's number on its host, from Open MPI, MPICH and its descendants, or Slurm.
std::optional<size_t> number_on_host() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (const char* text = std::getenv(name)) return read_number<size_t>(text);
  return std::nullopt;
}

}  // namespace

void take_gpu(std::string& device) {
  const std::vector<std::string> gpus = visible_gpus();
  const auto number = number_on_host();
  size_t chosen = gpus.size();
  if (device.starts_with("cuda:")) chosen = static_cast<size_t>(engine::device_of(device).index);
  else if (number && !gpus.empty()) chosen = *number % gpus.size();
  if (chosen >= gpus.size()) return;
  setenv("CUDA_VISIBLE_DEVICES", gpus[chosen].c_str(), 1);
  if (device.starts_with("cuda:")) device = "cuda";
}

}  // namespace headroom::experiments
