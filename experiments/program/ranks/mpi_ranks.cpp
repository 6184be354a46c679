#include "experiments/program/ranks/ranks.h"

#include <dlfcn.h>

#include <cstdlib>
#include <exception>
#include <sstream>
#include <vector>

#include "engine/error.h"
#include "engine/read_number.h"
#include "engine/transfer.h"
#include "experiments/program/ranks/module.h"
#include "experiments/program/ranks/mpi_calls.h"

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
    std::istringstream list(text);
    for (std::string name; std::getline(list, name, ',');) names.push_back(name);
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

/// The number of processes that the launcher says it started: Open MPI, or MPICH and its descendants.
int announced_size() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* text = std::getenv(name)) return read_number(text, 1).value_or(1);
  return 1;
}

class MpiRanks final : public tasks::Ranks {
 public:
  explicit MpiRanks(const HeadroomMpi& calls) : calls_(calls) {}
  ~MpiRanks() override {
    if (std::uncaught_exceptions() == 0) calls_.finish();
  }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  int rank() const override { return calls_.rank; }
  int size() const override { return calls_.size; }
  void exchange(int peer, std::span<const std::byte> out, std::span<std::byte> in, double patience) override {
    const int status = calls_.exchange(peer, out.data(), out.size(), in.data(), in.size(), patience);
    require(status != 1, "rank {}: rank {} has not answered for {:.0f} s", rank(), peer, patience);
    require(status == 0, "rank {}: MPI has lost rank {}", rank(), peer);
  }

 private:
  const HeadroomMpi& calls_;
};

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

std::unique_ptr<tasks::Ranks> started_ranks(std::string& device) {
  const int size = announced_size();
  if (size <= 1) return nullptr;
  take_gpu(device);
  const Module module("headroom-mpi.so");
  require(module.handle,
          "started as one of {} ranks, but this build has no MPI, which 'meson configure BUILD -Dmpi=enabled && ninja "
          "-C BUILD' adds where it is installed: {}",
          size, module.problem);
  const HeadroomMpi* const calls = module.function<HeadroomStartMpi>(headroom_start_mpi_name)();
  require(calls, "MPI does not start");
  return std::make_unique<MpiRanks>(*calls);
}

}  // namespace headroom::experiments
