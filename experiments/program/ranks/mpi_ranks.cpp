#include "experiments/program/ranks/mpi_ranks.h"

#include <cstdlib>
#include <exception>

#include "engine/error.h"
#include "engine/read_number.h"
#include "experiments/program/ranks/gpu_of_rank.h"
#include "experiments/program/ranks/module.h"
#include "experiments/program/ranks/mpi_calls.h"

namespace headroom::experiments {
namespace {

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
