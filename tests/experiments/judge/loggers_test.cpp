// One sweep as its loggers wrote it: data/ was made by tensorboardX 2.6.5, wandb 0.31.0, mlflow 3.17.2 and
// optuna 5.0.0.
#include <filesystem>

#include "experiments/studies/export/wandb_log.h"
#include "experiments/tools/judge/readers/logs.h"
#include "tests/experiments/judge/judge.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using namespace testing;

/// The verdict on a file or folder of data/, whose parameters have names of their logger's.
Verdict verdict_on(const std::string& name, const std::string& runs, const std::string& key = "", size_t count = 18) {
  Judging judging(runs + muon_claim + key);
  std::filesystem::copy(data_file(name), judging.folder / name, std::filesystem::copy_options::recursive);
  judging.paths = {(judging.folder / name).string()};
  const Verdict verdict = judging.verdicts().at(0);
  CHECK(judging.runs.runs.size() == count);
  CHECK(judging.runs.problems.empty());
  CHECK(judging.judged.notes.empty());
  return verdict;
}

}  // namespace

TEST_CASE("one sweep gives the same numbers from every logger") {
  const Verdict csv = verdict_on("runs.csv", tuned_runs);
  CHECK(csv.status == VerdictStatus::pass);
  CHECK(csv.steps == 300);
  const std::string nested =
      replaced(replaced(tuned_runs, "\"optimizer\"", "\"optimizer.name\""), "\"lr\"", "\"optimizer.lr\"");
  for (const Verdict& v : {verdict_on("tensorboard", tuned_runs), verdict_on("wandb", nested),
                           verdict_on("mlflow.db", tuned_runs), verdict_on("mlruns", tuned_runs, one_rate, 6),
                           verdict_on("optuna.db", replaced(tuned_runs, "\"test_loss\"", "\"value\"")),
                           verdict_on("optuna.log", replaced(tuned_runs, "\"test_loss\"", "\"value\""))}) {
    CHECK(v.status == csv.status);
    CHECK(v.number("ratio") == csv.number("ratio"));
    CHECK(v.intervals.at(0).low == csv.intervals.at(0).low);
    CHECK(v.intervals.at(0).high == csv.intervals.at(0).high);
  }
}

TEST_CASE("a logger's file that is cut anywhere gives what is whole, and says that it is cut") {
  for (const char* name : {"tensorboard/optimizer=muon,lr=0.002,seed=1/events.out.tfevents.1", "wandb"}) {
    std::filesystem::path file = data_file(name);
    if (std::filesystem::is_directory(file)) file = std::filesystem::directory_iterator(file)->path();
    const bool is_wandb = file.extension() == ".wandb";
    const std::string bytes = read_bytes(file);
    const TemporaryFolder folder;
    const auto read = [&](const std::string& part, std::vector<std::string>& problems) {
      write_bytes(folder / "file", part);
      if (is_wandb) return read_wandb_file(folder / "file", problems);
      ForeignRun run;
      read_event_file(folder / "file", run, problems);
      return run;
    };
    std::vector<std::string> none;
    const ForeignRun whole = read(bytes, none);
    CHECK(none.empty());
    CHECK(whole.metrics.at("test_loss").size() == 3);
    CHECK(whole.end == RunEnd::finished);
    size_t silent = 0;
    for (size_t length = 0; length < bytes.size(); length += 7) {
      std::vector<std::string> problems;
      const ForeignRun cut = read(bytes.substr(0, length), problems);
      for (const auto& [metric, values] : cut.metrics)
        for (const auto& [step, value] : values) REQUIRE(whole.metrics.at(metric).at(step) == value);
      silent += problems.empty() ? 1 : 0;
      std::string flipped = bytes;
      flipped[length] = static_cast<char>(flipped[length] ^ 0x10);
      const ForeignRun damaged = read(flipped, problems);
      for (const auto& [metric, values] : damaged.metrics)
        for (const auto& [step, value] : values) REQUIRE(whole.metrics.at(metric).at(step) == value);
    }
    CHECK(silent < 8);  // cuts that fall between two records
  }
}

TEST_CASE("a W&B run without an end is running, and one that ended badly has failed") {
  const TemporaryFolder folder;
  const auto end_of = [&](const std::vector<ProtoMessage>& records) {
    WandbLog log;
    for (const ProtoMessage& record : records) log.add(record.bytes());
    write_bytes(folder / "run.wandb", log.bytes());
    std::vector<std::string> problems;
    return read_wandb_file(folder / "run.wandb", problems).end;
  };
  const ProtoMessage header = ProtoMessage().integer(1, 1);
  CHECK(end_of({header}) == RunEnd::running);
  CHECK(end_of({header, ProtoMessage().message(18, ProtoMessage().integer(1, 0))}) == RunEnd::finished);
  CHECK(end_of({header, ProtoMessage().message(18, ProtoMessage().integer(1, 255))}) == RunEnd::failed);
}

TEST_CASE("a database that is neither MLflow's nor Optuna's, or none at all, is named") {
  const ForeignRuns runs =
      read_as("a.db", "not a database, whatever its name says, and longer than a header of SQLite has to be");
  CHECK(runs.runs.empty());
  CHECK(contains(runs.problems.at(0), "a.db"));
}

}  // namespace headroom::experiments
