// Runs of the program under mpirun: what any number of ranks leaves equals what one process leaves, to the bit.
#include <fmt/core.h>
#include <unistd.h>

#include <charconv>
#include <map>
#include <vector>

#include "engine/isa.h"
#include "tests/experiments/mpirun.h"
#include "tests/experiments/no_onednn.h"
#include "tests/experiments/program_json.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::testing;

namespace {

namespace fs = std::filesystem;

constexpr const char* arguments = "run study.toml --out runs --quiet --yes";

/// Linear functionals, with dropout: two trials of 100 steps.
std::string functional_study() {
  std::string text = replaced(small_study(), "best_of = [1e-3, 1e-2]", "best_of = [3e-2]");
  text = replaced(text, "seed                 = [1, 2]", "seed = [1]");
  text = replaced(text, "batch     = 4",
                  "batch = 8\nparts = 8\nclip = 0.5\neval_every = 20\njudged = \"best\"\nsave_every = 0.01\n"
                  "keep_weights = true\nschedule = { kind = \"reduce_on_plateau\", patience = 1, factor = 0.7 }");
  return replaced(replaced(text, "steps     = 6", "steps = 100"), "ffn_width = 0", "ffn_width = 16\ndropout = 0.1");
}

/// Next tokens, with dropout and tied embeddings.
std::string token_study(const std::string& precision) {
  return fmt::format(R"([study]
id    = "tokens"
title = "Tokens"
[task]
kind       = "next-token"
source     = "markov"
length     = 8
validation = 0.05
test       = 0.05
markov     = {{ symbols = 8, order = 1, seed = 1, sharpness = 1.5, tokens = 20000 }}
[model]
kind      = "decoder"
layers    = 2
width     = 16
heads     = 2
positions = "learned"
ffn_width = 32
tied      = true
dropout   = 0.1
[train]
steps        = 100
batch        = 8
parts        = 8
optimizer    = {{ kind = "adamw", lr = 3e-3 }}
clip         = 1.0
precision    = "{}"
keep_weights = true
save_every   = 0.01
eval_sequences = 64
[sweep]
"task.markov.order" = [1]
seed = [1]
[report]
x = {{ key = "task.markov.order", label = "order" }}
y = {{ metric = "cross_entropy", label = "cross-entropy" }}
)",
                     precision);
}

/// Weights by the name of their file.
using Weights = std::map<std::string, std::string>;

Weights weights_in(const fs::path& folder) {
  Weights all;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "runs"))
    if (entry.path().parent_path().filename() == "weights") all[entry.path().filename().string()] = read(entry.path());
  return all;
}

Weights weights_of(const std::string& study, int ranks) {
  const StudyFile file(study);
  output_of(file.folder(), arguments, ranks > 0 ? under_mpi(ranks) : "");
  return weights_in(file.folder());
}

void check_study(const std::string& study) {
  const Weights one = weights_of(study, 0);
  CHECK_FALSE(one.empty());
  for (const int ranks : {2, 4, 8}) {
    INFO(ranks << " ranks");
    CHECK((weights_of(study, ranks) == one));
  }
}

/// Processes of the program in `folder`, those that mpirun started.
std::vector<pid_t> ranks_in(const fs::path& folder) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    pid_t process = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), process).ptr != name.data() + name.size()) continue;
    std::error_code error;
    const fs::path program = fs::read_symlink(entry.path() / "exe", error);
    if (program.filename() == "headroom" && fs::read_symlink(entry.path() / "cwd", error) == folder)
      found.push_back(process);
  }
  return found;
}

bool has_checkpoint(const fs::path& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder / "runs", error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().parent_path().filename() == "checkpoints" && !entry->path().filename().string().starts_with("."))
      return true;
  return false;
}

}  // namespace

TEST_CASE("mpirun: linear functionals with dropout have the weights of one process") {
  if (!lacks_mpi()) check_study(functional_study());
}

TEST_CASE("mpirun: so do tokens with tied embeddings, in f32") {
  if (!lacks_mpi()) check_study(token_study("f32"));
}

TEST_CASE("mpirun: and in bf16") {
  if (lacks_mpi()) return;
  if (!headroom::engine::has_bf16_pairs()) return skip("no CPU with AVX512-BF16");
  check_study(token_study("bf16"));
}

TEST_CASE("mpirun: after a rank has died the run goes on with fewer, to the same weights") {
  if (lacks_mpi()) return;
  const std::string study = replaced(functional_study(), "steps = 100", "steps = 400");
  const Weights whole = weights_of(study, 0);
  const StudyFile file(study);
  Program run(file.folder(), arguments, under_mpi(4));
  for (int i = 0; i < 3000 && !has_checkpoint(file.folder()) && run.is_running(); ++i) usleep(10000);
  const std::vector<pid_t> ranks = ranks_in(file.folder());
  REQUIRE(ranks.size() == 4);
  kill(ranks[2], SIGKILL);
  CHECK(run.wait() != 0);
  CHECK_THAT(run.err(), contains("exited on signal 9"));
  output_of(file.folder(), arguments, under_mpi(2));
  CHECK((weights_in(file.folder()) == whole));
}

TEST_CASE("mpirun: a fine-tuning ends in the bytes of one process, also after a rank has died") {
  if (lacks_mpi()) return;
  const TemporaryFolder folder;
  const auto command = [](const std::string& out) {
    return fmt::format(
        "finetune {} -o {} --text {} --context 32 --steps 200 --batch 8 --parts 8 --save-every 5 "
        "--checkpoint saved-{} --log {}.jsonl",
        small_model(), out, small_text(), out, out);
  };
  output_of(folder.path(), command("one"));
  Program cut(folder.path(), command("more"), under_mpi(4));
  const fs::path checkpoint = folder.path() / "saved-more" / "finetune.safetensors";
  for (int i = 0; i < 3000 && !fs::exists(checkpoint) && cut.is_running(); ++i) usleep(10000);
  const std::vector<pid_t> ranks = ranks_in(folder.path());
  REQUIRE(ranks.size() == 4);
  kill(ranks[1], SIGKILL);
  CHECK(cut.wait() != 0);
  CHECK_FALSE(fs::exists(folder.path() / "more"));
  CHECK_THAT(output_of(folder.path(), command("more"), under_mpi(2)), contains("resumed  after step"));
  CHECK(read(folder.path() / "more" / "model.safetensors") == read(folder.path() / "one" / "model.safetensors"));
  Program other(folder.path(), replaced(command("more"), "-o more", "-o other") + " --force --seed 2", under_mpi(2));
  CHECK(other.wait() != 0);
  CHECK_THAT(other.err(), contains("--seed"));
}

TEST_CASE("mpirun: ranks of which one multiplies otherwise are refused, and what differs is named") {
  if (lacks_mpi() || lacks_onednn()) return;
  const std::string level = headroom::engine::kernel_level();
  const std::string second =
      fmt::format(R"([ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = 1 ] && export {}; exec "$@")", without_onednn());
  std::string two = under_mpi(2);
  two.replace(two.find("exec \"$@\""), std::string("exec \"$@\"").size(), second);
  const StudyFile file(functional_study());
  Program run(file.folder(), arguments, two);
  CHECK(run.wait() != 0);
  CHECK_THAT(run.err(), contains("rank 1 has ") && contains(", own products, bits "));
  CHECK_THAT(run.err(), contains("; rank 0 has ") && contains("kernels " + level) && contains("their bits may differ"));
}

TEST_CASE("mpirun: a number of ranks that cannot share the parts is refused with those that can") {
  if (lacks_mpi()) return;
  const StudyFile file(functional_study());
  Program run(file.folder(), arguments, under_mpi(3));
  CHECK(run.wait() != 0);
  CHECK_THAT(run.err(), contains("3 ranks cannot share train.parts = 8 evenly: expected 1, 2, 4 or 8"));
  CHECK_FALSE(fs::exists(file.folder() / "runs"));
}

TEST_CASE("parts that do not fit the batch are refused") {
  const StudyFile file(replaced(functional_study(), "parts = 8", "parts = 6"));
  CHECK_THAT(complaint(file.folder(), arguments, 1),
             contains("train.parts: 6 is not a power of two that divides the batch of 8"));
}
