// Studies with an op of a library: own_silu is the built-in silu under another name, so that all numbers are the same.
#include <unistd.h>

#include "experiments/studies/run/runner.h"
#include "tests/experiments/program.h"
#include "tests/experiments/support.h"
#include "tests/models/op_library/libraries.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

namespace fs = std::filesystem;

/// A study with a network, by its activation.
std::string study_with(const std::string& model_keys, const std::string& train_keys = "") {
  const std::string text = replaced(small_study(), "ffn_width = 0", "ffn_width = 16\n" + model_keys);
  return replaced(text, "[sweep]", train_keys + "\n[sweep]");
}

std::string with_library(const fs::path& file, const std::string& op = "own_silu") {
  return "op_library = \"" + file.string() + "\"\nactivation = \"" + op + "\"";
}

RunOptions quiet(const fs::path& out, int threads = 0) {
  RunOptions options;
  options.out = out;
  options.threads = threads;
  options.output = ProgressOutput::none;
  return options;
}

/// All numbers of a study's trials, run in a folder of its own.
std::vector<TrialRecord> trained(const std::string& text, int threads = 0) {
  const StudyFile file(text);
  const Study study = load_study(file.path());
  const fs::path out = file.folder() / "runs";
  REQUIRE(run_trials(study, quiet(out, threads)));
  return collect_results(study, out).trials;
}

}  // namespace

TEST_CASE("a study with an op of a library trains to the bits of the built-in one, on any number of threads") {
  const std::vector<TrialRecord> wanted = trained(study_with("activation = \"silu\""));
  for (const int threads : {1, 2}) {
    const std::vector<TrialRecord> found = trained(study_with(with_library(built_library("own_silu"))), threads);
    REQUIRE(found.size() == wanted.size());
    for (size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i].status == TrialStatus::finished);
      CHECK(found[i].history == wanted[i].history);
      CHECK(found[i].validation == wanted[i].validation);
      CHECK(found[i].test == wanted[i].test);
      CHECK(found[i].predictions == wanted[i].predictions);
      CHECK(found[i].parameters == wanted[i].parameters);
      CHECK(found[i].flops == wanted[i].flops);
      CHECK(found[i].id != wanted[i].id);
      CHECK(contains(found[i].config, "\"activation\":\"own_silu\""));
      CHECK(contains(found[i].config, built_library("own_silu").string()));
      CHECK(found[i].data.at(built_library("own_silu").string()).size() == 64);
    }
  }
  CHECK(wanted[0].data.empty());
  CHECK_FALSE(contains(wanted[0].config, "op_library"));
}

TEST_CASE("a library that no trial uses changes no id") {
  const StudyFile without(study_with("activation = \"silu\""));
  const StudyFile beside(study_with(with_library("none.so", "silu")));
  const Study plain = load_study(without.path()), unused = load_study(beside.path());
  REQUIRE(plain.trials.size() == unused.trials.size());
  for (size_t i = 0; i < plain.trials.size(); ++i) CHECK(plain.trials[i].id == unused.trials[i].id);
}

TEST_CASE("what a study cannot have of a library is refused before anything is trained") {
  const auto refusal = [](const std::string& text) {
    const StudyFile file(text);
    const std::string error = error_of([&] { run_trials(load_study(file.path()), quiet(file.folder() / "runs")); });
    CHECK_FALSE(fs::exists(file.folder() / "runs/small/paper/checkpoints"));
    return error;
  };
  CHECK(contains(
      refusal(study_with(with_library(built_library("own_silu"), "own_sliu"))),
      "model.activation: \"own_sliu\" is neither built in (relu, gelu, gelu_tanh, silu, swiglu) nor an op of " +
          built_library("own_silu").string() + " (which has own_silu); did you mean \"own_silu\"?"));
  CHECK(contains(refusal(study_with(with_library("none.so"))), "none.so: cannot read the library of ops"));
  CHECK(contains(refusal(study_with(with_library(built_library("wrong-abi")))), "build it again (trial \""));
  CHECK(contains(refusal(study_with(with_library(built_library("own_silu")), "device = \"cuda\"")),
                 "ops of libraries run on the CPU only, not on cuda"));
}

TEST_CASE("a killed run with a library goes on to the same results, and a changed library is refused") {
  const StudyFile file(
      study_with("op_library = \"own.so\"\nactivation = \"own_silu\"", "save_every = 0.01\neval_every = 50"));
  write_bytes(file.path(), replaced(read_bytes(file.path()), "steps     = 6", "steps = 400"));
  fs::copy_file(built_library("own_silu"), file.folder() / "own.so");
  const auto numbers = [&](const std::string& out) {
    std::vector<std::vector<HistoryPoint>> all;
    for (const TrialRecord& trial : collect_results(load_study(file.path()), file.folder() / out).trials)
      all.push_back(trial.history);
    return all;
  };
  Program dry(file.folder(), "run study.toml --dry-run");
  CHECK(dry.wait() == 0);
  Program whole(file.folder(), "run study.toml --quiet --threads 1 --out whole");
  REQUIRE(whole.wait() == 0);
  const auto longer_each_time = [](int run) { return 60000 * (1 + run); };
  CHECK(killed_runs(file.folder(), "run study.toml --quiet --threads 2 --out cut", 6, longer_each_time) > 0);
  Program last(file.folder(), "run study.toml --quiet --threads 2 --out cut");
  CHECK(last.wait() == 0);
  CHECK(numbers("cut") == numbers("whole"));
  write_bytes(file.folder() / "own.so", read_bytes(built_library("own_silu")) + "x");
  Program changed(file.folder(), "run study.toml --quiet --out whole");
  CHECK(changed.wait() == 1);
  CHECK(contains(changed.err(), "own.so: has SHA-256 "));
  fs::remove(file.folder() / "own.so");
  Program finished(file.folder(), "run study.toml --quiet --out whole");
  CHECK(finished.wait() == 0);  // nothing is left to train
  Program report(file.folder(), "report study.toml --out whole");
  CHECK(report.wait() == 0);
}
