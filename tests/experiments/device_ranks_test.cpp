// The program under mpirun with --device cuda, on a GPU or the emulator: all ranks have one card, and leave the bytes
// of one process. Over NCCL where its module and a stand-in for NCCL are there, which takes ranks that share a card.
#include <map>

#include "engine/transfer.h"
#include "tests/experiments/mpirun.h"
#include "tests/experiments/program_json.h"
#include "tests/experiments/support.h"
#include "tests/support/environment.h"
#include "tests/support/folder.h"

using namespace headroom;
using namespace headroom::testing;

namespace {

bool is_absent() {
  if (lacks_mpi()) return true;
  if (engine::has_device(engine::Device::Kind::cuda)) return false;
  skip("no CUDA device");
  return true;
}

std::string study() {
  std::string text = replaced(small_study(), "best_of = [1e-3, 1e-2]", "best_of = [3e-2]");
  text = replaced(text, "seed                 = [1, 2]", "seed = [1]");
  text = replaced(text, "batch     = 4", "batch = 8\nparts = 4\nclip = 0.5\nkeep_weights = true");
  return replaced(text, "ffn_width = 0", "ffn_width = 16\ndropout = 0.1");
}

/// The weights that a run leaves, by the name of their file.
std::map<std::string, std::string> weights_of(int ranks, const std::string& said = "") {
  const StudyFile file(study());
  CHECK_THAT(output_of(file.folder(), "run study.toml --yes --device cuda", ranks > 0 ? under_mpi(ranks) : ""),
             contains(said));
  std::map<std::string, std::string> all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(file.folder() / "runs"))
    if (entry.path().parent_path().filename() == "weights") all[entry.path().filename().string()] = read(entry.path());
  return all;
}

}  // namespace

TEST_CASE("mpirun on a GPU: a run has the weights of one process, through host memory and over NCCL") {
  if (is_absent()) return;
  const auto one = weights_of(0);
  CHECK_FALSE(one.empty());
  if (std::getenv("HEADROOM_NCCL_MODULE")) CHECK((weights_of(2, "2 ranks over NCCL 2.") == one));
  const Environment refuses("STAND_IN_REFUSES", "1");
  CHECK((weights_of(2, "2 ranks through host memory: ") == one));
}

TEST_CASE("mpirun on a GPU: a fine-tuning ends in the bytes of one process") {
  if (is_absent()) return;
  const TemporaryFolder folder;
  const auto tuned = [&](const std::string& out, int ranks) {
    const std::string said =
        output_of(folder.path(),
                  fmt::format("finetune {} -o {} --text {} --context 16 --steps 4 --batch 4 --parts 4 --device cuda",
                              small_model(), out, small_text()),
                  ranks > 0 ? under_mpi(ranks) : "");
    CHECK(said.starts_with(ranks > 0 ? "ranks    2, " : "trained "));
    return read(folder.path() / out / "model.safetensors");
  };
  const std::string one = tuned("one", 0);
  CHECK_FALSE(one.empty());
  CHECK((tuned("two", 2) == one));
}

TEST_CASE("mpirun on a GPU: ranks on the CPU and on a GPU do not train together") {
  if (is_absent()) return;
  const StudyFile file(study());
  Program run(file.folder(), "run study.toml --yes --quiet",
              replaced(under_mpi(2), "\"$@\"",
                       "\"$@\" --device $([ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 1 ] && echo cuda || echo cpu)"));
  CHECK(run.wait() != 0);
  CHECK_THAT(run.err(), contains("rank 1 has trainings on a GPU; rank 0 has trainings on the CPU"));
}
