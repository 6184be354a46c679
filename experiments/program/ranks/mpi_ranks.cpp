#include "experiments/program/ranks/mpi_ranks.h"

#include <dlfcn.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>

#include "engine/error.h"
#include "experiments/program/ranks/mpi_calls.h"

namespace headroom::experiments {
namespace {

/// How many processes a launcher says it started: Open MPI's, or that of MPICH and what came of it.
int announced_size() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* text = std::getenv(name)) return std::atoi(text);
  return 1;
}

/// The module in the program's own folder, as in a build, else where it is installed.
std::string module_path() {
  constexpr const char* name = "headroom-mpi.so";
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error),
                              built = program.parent_path() / name;
  if (std::filesystem::exists(built, error)) return built.string();
  return (program.parent_path() / HEADROOM_MODULES / name).lexically_normal().string();
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

std::unique_ptr<tasks::Ranks> started_ranks() {
  const int size = announced_size();
  if (size <= 1) return nullptr;
  const std::string path = module_path();
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  require(module, "started as one of {} ranks, but this build has no MPI (-Dmpi=enabled): {}", size, dlerror());
  const auto start = reinterpret_cast<HeadroomStartMpi>(dlsym(module, headroom_start_mpi_name));
  require(start, "{}: is no module of this program", path);
  const HeadroomMpi* const calls = start();
  require(calls, "MPI does not start");
  return std::make_unique<MpiRanks>(*calls);
}

}  // namespace headroom::experiments
