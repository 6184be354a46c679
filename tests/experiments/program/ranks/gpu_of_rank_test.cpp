#include "experiments/program/ranks/ranks.h"

#include "tests/support/catch.h"
#include "tests/support/environment.h"

using headroom::experiments::take_gpu;
using headroom::testing::Environment;

namespace {

/// CUDA_VISIBLE_DEVICES and --device afterwards.
std::string taken(const char* visible, const char* number, std::string device) {
  const Environment gpus("CUDA_VISIBLE_DEVICES", visible);
  const Environment mpich("MPI_LOCALRANKID", number), slurm("SLURM_LOCALID", "9");
  take_gpu(device);
  return std::string(std::getenv("CUDA_VISIBLE_DEVICES")) + " " + device;
}

}  // namespace

TEST_CASE("a rank takes the GPU of its number on its host, or the one it is told") {
  CHECK(taken("4,5,GPU-a", "0", "cuda") == "4 cuda");
  CHECK(taken("4,5,GPU-a", "2", "") == "GPU-a ");
  CHECK(taken("4,5,GPU-a", "4", "cuda") == "5 cuda");
  CHECK(taken("4,5,GPU-a", "0", "cuda:1") == "5 cuda");
  CHECK(taken("4,5,GPU-a", "0", "cuda:3") == "4,5,GPU-a cuda:3");
  CHECK(taken("", "1", "cuda") == " cuda");
}
