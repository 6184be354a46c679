// Studies on a GPU, or on the emulator: they end as on the CPU, go on where the card was lost, and share it.
#include <fmt/core.h>

#include <regex>

#include "engine/transfer.h"
#include "experiments/studies/run/store.h"
#include "tests/experiments/program.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"
#include "tests/support/folder.h"

using namespace headroom;
using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

namespace fs = std::filesystem;

bool is_absent() {
  if (engine::has_device(engine::Device::Kind::cuda)) return false;
  testing::skip("no CUDA device");
  return true;
}

fs::path begin(const fs::path& folder) {
  std::ofstream(folder / "study.toml") << small_study();
  return folder;
}

/// Trial, metric → value of the test split.
std::map<std::string, double> scores(const fs::path& folder) {
  Database database(folder / "runs/small/paper/store.sqlite", true);
  Statement rows(database, "SELECT trial || ' ' || metric, value FROM scores WHERE split = 'test'");
  std::map<std::string, double> found;
  while (rows.step()) found[rows.text(0)] = rows.real(1);
  return found;
}

/// A text whose lines were broken to fit, as one line.
std::string unwrapped(const std::string& text) { return std::regex_replace(text, std::regex("\\s+"), " "); }

}  // namespace

TEST_CASE("a study on the GPU has the trials of the CPU, and their metrics to rounding") {
  if (is_absent()) return;
  const TemporaryFolder here, there;
  CHECK(Program(begin(here.path()), "run study.toml --quiet").wait() == 0);
  Program device(begin(there.path()), "run study.toml --quiet --device cuda --jobs 2");
  CHECK(device.wait() == 0);
  INFO(device.err());
  const auto want = scores(here.path()), got = scores(there.path());
  REQUIRE(!want.empty());
  REQUIRE(got.size() == want.size());
  for (const auto& [name, value] : want) {
    INFO(name);
    REQUIRE(got.contains(name));
    CHECK(got.at(name) == Approx(value).epsilon(1e-3));
  }
  // Nothing is left to train on either device.
  CHECK(Program(there.path(), "run study.toml --quiet").wait() == 0);
  CHECK(scores(there.path()) == got);
}

TEST_CASE("a GPU that is lost in mid-study: exit 1, what had finished is kept, the next run goes on") {
  if (is_absent()) return;
  const TemporaryFolder whole, lost;
  CHECK(Program(begin(whole.path()), "run study.toml --quiet --device cuda --jobs 1").wait() == 0);
  begin(lost.path());
  Program first(lost.path(), "run study.toml --quiet --device cuda --jobs 1", "HEADROOM_CUDA_FAULT=lost:4000");
  const int status = first.wait();
  if (status == 0) return testing::skip("not on the emulator: no card can be lost on purpose");
  CHECK(status == 1);
  CHECK(first.err().find("a GPU does not recover from this within a process") != std::string::npos);
  const size_t kept = scores(lost.path()).size();
  CHECK(kept < scores(whole.path()).size());
  CHECK(Program(lost.path(), "run study.toml --quiet --device cuda --jobs 1").wait() == 0);
  CHECK(scores(lost.path()) == scores(whole.path()));
}

TEST_CASE("what the GPU's libraries refuse is done by kernels of our own, and said") {
  if (is_absent()) return;
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "w.toml") << R"([w]
layers = 1
width = 64
heads = 2
head_dim = 32
ffn = 32
length = 64
batch = 1
causal = true
norm = "layernorm"
activation = "gelu"
positions = "learned"
tied = true
dropout = 0.0
objective = "ce"
vocab = 11
)";
  const auto run = [&](const std::string& command, const std::string& refused) {
    Program program(folder.path(), command, "HEADROOM_CUDA_REFUSES=" + refused);
    const int status = program.wait();
    INFO(program.err());
    CHECK(status == 0);
    return program.out() + program.err();
  };
  const std::string bench = "bench w --workloads w.toml --seconds 0.01 --device cuda --precision bf16";
  if (!contains(unwrapped(run("doctor", "epilogues")), "by a kernel of its own: bias f32"))
    return testing::skip("not on the emulator");
  CHECK(contains(unwrapped(run("doctor", "")),
                 "in the product: bias f32, bias gradient f32, bias bf16; by a kernel of "
                 "its own: bias gradient bf16"));
  const std::string profile = run(bench + " --profile", "epilogues");
  CHECK(profile.find("linear: bias apart") != std::string::npos);
  CHECK(profile.find("linear: bias gradient apart") != std::string::npos);
  CHECK(run(bench + " --profile", "").find("linear: bias apart") == std::string::npos);
  CHECK(run(bench + " --profile", "heuristics").find("plain product") != std::string::npos);
  for (const auto& [refused, reason] : {std::pair{"plans", "the emulated cuDNN makes no plan"},
                                        std::pair{"execution", "the emulated cuDNN does not run"}}) {
    const std::string said = run(bench, refused), line = "attention runs on kernels of our own where cuDNN fails: ";
    CHECK(said.find(line + reason) != std::string::npos);
    CHECK(said.find(line) == said.rfind(line));
    // Where cuDNN is off it is not asked, and so cannot fail.
    Program off(folder.path(), bench, std::string("HEADROOM_CUDNN=off HEADROOM_CUDA_REFUSES=") + refused);
    CHECK(off.wait() == 0);
    CHECK(off.err().empty());
  }
  CHECK(contains(unwrapped(output_of(folder.path(), "doctor", "HEADROOM_CUDNN=off")), "; off (HEADROOM_CUDNN)"));
}

TEST_CASE("what is wrong with a GPU is said before anything is trained") {
  if (is_absent()) return;
  const TemporaryFolder folder;
  begin(folder.path());
  const auto error = [&](const std::string& before, const std::string& options = "--device cuda") {
    Program run(folder.path(), "run study.toml --quiet " + options, before);
    const int status = run.wait();
    return fmt::format("{} {}", status, run.err());
  };
  const std::string absent = error("HEADROOM_CUDA_FAULT=no-driver");
  if (absent.starts_with("0")) return testing::skip("not on the emulator");
  CHECK(absent.find("there is no NVIDIA driver") != std::string::npos);
  CHECK(error("HEADROOM_CUDA_FAULT=old-driver").find("update the driver") != std::string::npos);
  CHECK(error("HEADROOM_CUDA_FAULT=no-device").find("no GPU") != std::string::npos);
  const std::string no_code = error("HEADROOM_CUDA_FAULT=no-code");
  // Which architectures is the build's own choice.
  CHECK(no_code.find("no GPU that fits: Emulated GPU, compute capability 9.0; this program has code for ") !=
        std::string::npos);
  CHECK(no_code.find("no kernel image") != std::string::npos);
  CHECK(error("HEADROOM_CUDA_CAPABILITY=7.5").find("compute capability 7.5") != std::string::npos);
  CHECK(error("", "--device cuda:7").find("device: cuda:7 cannot be used: this machine has one GPU, cuda:0") !=
        std::string::npos);
  const std::string full =
      error("HEADROOM_CUDA_MEMORY=1000000", "--device cuda --set train.batch=4096 --set train.eval_sequences=8");
  CHECK(full.find("of memory (weights, gradients and moments ") != std::string::npos);
  CHECK(full.find("and the free memory of cuda:0 is 977 KiB: train.accumulate = ") != std::string::npos);
  const std::string jobs =
      error("HEADROOM_CUDA_MEMORY=300000", "--device cuda --jobs 8 --set train.batch=64 --set train.eval_sequences=8");
  CHECK(jobs.find("--jobs 8: so many trials at once need at least ") != std::string::npos);
  CHECK(jobs.find("the free memory of cuda:0 is 293 KiB: --jobs ") != std::string::npos);
  CHECK_FALSE(fs::exists(folder.path() / "runs"));
}
