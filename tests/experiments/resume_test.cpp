// Runs of the program that are killed, or that share a store: what they leave behind equals what one run leaves.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <random>

#include "engine/cpu/kernel_level.h"
#include "engine/error.h"
#include "engine/isa.h"
#include "experiments/studies/run/store.h"
#include "tests/experiments/no_onednn.h"
#include "tests/experiments/program.h"
#include "tests/experiments/shared_run.h"
#include "tests/experiments/studies/export/wire.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

namespace fs = std::filesystem;

/// Everything of a store but times: what equal runs have in common.
std::string contents(const fs::path& store) {
  std::string text = trials_in(store);
  for (const Lease& lease : RunStore(store, RunStore::Access::read).leases()) text += lease.trial;
  return text;
}

/// Name → bytes.
std::map<std::string, std::string> files_in(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) files[entry.path().filename().string()] = read(entry.path());
  return files;
}

/// Whether the trial that is being trained has one that it may continue from.
bool has_checkpoint(const fs::path& run) {
  if (!fs::exists(run / "checkpoints")) return false;
  for (const auto& [name, bytes] : files_in(run / "checkpoints"))
    if (name.ends_with(".safetensors") && !name.starts_with(".")) return true;
  return false;
}

/// Four trials with all that has a state, long enough to be killed in, with many checkpoints.
std::string long_study() {
  std::string text = replaced(small_study(), "best_of = [1e-3, 1e-2]", "best_of = [3e-2]");
  text = replaced(text, "steps     = 6", R"(steps = 600
eval_every = 50
judged = "best"
accumulate = 2
save_every = 0.01
keep_weights = true
schedule = { kind = "reduce_on_plateau", patience = 1, factor = 0.7 })");
  return replaced(text, "ffn_width = 0", "ffn_width = 16\ndropout = 0.1");
}

/// Many short trials.
std::string wide_study() {
  return replaced(replaced(small_study(), "seed                 = [1, 2]", "seed = [1, 2, 3, 4, 5, 6]"),
                  "steps     = 6", "steps = 200");
}

}  // namespace

TEST_CASE("a study in rounds ends with the same trials however often it is killed, and whoever shares it") {
  const StudyFile file(study_in_rounds());
  const auto store = [&](const std::string& out) { return file.folder() / out / "small/paper/store.sqlite"; };
  Program whole(file.folder(), "run study.toml --threads 2 --out whole");
  REQUIRE(whole.wait() == 0);
  CHECK_THAT(whole.err(),
             contains("headroom: after round 1: ") && contains("; round 2: ") && contains("headroom: after round 2: "));
  const std::string status = output_of(file.folder(), "status small --out whole --json");
  CHECK(contains(status, "\"most_rounds\":"));
  CHECK_FALSE(contains(status, "\"most_rounds\":1,"));
  CHECK_FALSE(contains(status, "\"round\":1,"));
  CHECK(contains(status, "\"remaining\":0,"));
  const std::string wanted = contents(store("whole"));
  std::mt19937 random(21);
  const auto some_time = [&](int) { return std::uniform_real_distribution<>(5000, 250000)(random); };
  CHECK(killed_runs(file.folder(), "run study.toml --quiet --threads 2 --out cut", 12, some_time) > 0);
  output_of(file.folder(), "run study.toml --quiet --threads 2 --out cut");
  CHECK(contents(store("cut")) == wanted);
  Program first(file.folder(), "run study.toml --quiet --threads 1 --out shared", "", "first-");
  Program second(file.folder(), "run study.toml --quiet --threads 1 --out shared", "", "second-");
  CHECK(first.wait() == 0);
  CHECK(second.wait() == 0);
  CHECK(contents(store("shared")) == wanted);
  // Nothing is left to do, and the report tells what the rounds were.
  CHECK(contains(output_of(file.folder(), "run study.toml --threads 2 --out whole"), " trials at first, at most "));
  CHECK(contents(store("whole")) == wanted);
  CHECK(contains(read(file.folder() / "whole/small/paper/report.html"), "round 2: "));
}

TEST_CASE("a run killed at 20 random moments ends with the bits of an uninterrupted one") {
  const StudyFile file(long_study());
  const fs::path whole = file.folder() / "whole/small/paper", cut = file.folder() / "cut/small/paper";
  output_of(file.folder(), "run study.toml --quiet --threads 2 --out whole");
  const std::string wanted = contents(whole / "store.sqlite");
  const std::map<std::string, std::string> weights = files_in(whole / "weights");
  REQUIRE(weights.size() == 4);
  std::mt19937 random(20);
  double longest = 300000;  // µs, and fitted to this machine as it is now: most runs should be killed with a checkpoint
  const auto check_same = [&] {
    CHECK(contents(cut / "store.sqlite") == wanted);
    CHECK(files_in(cut / "weights") == weights);
    CHECK_FALSE(fs::exists(cut / "checkpoints"));
  };
  int kills = 0, resumed = 0;
  while (kills < 20) {
    Program program(file.folder(), "run study.toml --quiet --threads 2 --out cut");
    usleep(static_cast<useconds_t>(std::uniform_real_distribution<>(10000, longest)(random)));
    if (program.is_running()) {
      ++kills;
      program.signal(SIGKILL);
      program.wait();
      if (has_checkpoint(cut)) ++resumed;
      else longest *= 1.3;
    } else {
      CHECK(program.wait() == 0);  // faster than the kill: another round
      check_same();
      fs::remove_all(cut);
      longest = std::max(20000.0, longest / 1.3);
    }
  }
  CHECK(resumed > 0);
  Program last(file.folder(), "run study.toml --quiet --threads 2 --out cut");
  CHECK(last.wait() == 0);
  CHECK(last.err().empty());
  check_same();
}

TEST_CASE("event files hold the curves of a run that was killed, each step once; none of them can stop a trial") {
  const StudyFile file(long_study());
  const fs::path events = file.folder() / "events/small/paper";
  const auto some_time = [](int) { return 150000; };
  CHECK(killed_runs(file.folder(), "run study.toml --quiet --threads 2 --tensorboard events", 3, some_time) > 0);
  output_of(file.folder(), "run study.toml --quiet --threads 2 --tensorboard events");
  const std::string wanted = contents(file.folder() / "runs/small/paper/store.sqlite");
  const RunStore store(file.folder() / "runs/small/paper/store.sqlite", RunStore::Access::read);
  size_t trials = 0;
  store.each([&](TrialRecord&& trial) {
    for (const auto& folder : fs::directory_iterator(events)) {
      if (!folder.path().string().ends_with("-" + trial.id.substr(0, 8))) continue;
      ++trials;
      fs::path newest;
      for (const auto& entry : fs::directory_iterator(folder)) newest = std::max(newest, entry.path());
      std::vector<std::string> points{"start 0"};
      const auto add = [&](int64_t step, const std::string& name, double value) {
        points.push_back(fmt::format("{} {} {:f}", step, name, static_cast<float>(value)));
      };
      for (const HistoryPoint& p : trial.history) add(p.step, p.split + "/" + p.metric, p.value);
      for (const auto& [metric, value] : trial.test) add(trial.steps, "test/" + metric, value);
      CHECK(event_lines(read(newest)) == points);
    }
  });
  CHECK(trials == 4);
  // A file in the way of each trial's folder.
  fs::create_directories(file.folder() / "taken/small/paper");
  for (const auto& folder : fs::directory_iterator(events))
    std::ofstream(file.folder() / "taken/small/paper" / folder.path().filename()) << "in the way";
  Program blocked(file.folder(), "run study.toml --quiet --threads 2 --out other --tensorboard taken");
  CHECK(blocked.wait() == 0);
  CHECK(contents(file.folder() / "other/small/paper/store.sqlite") == wanted);
  CHECK(contains(blocked.err(), "headroom: --tensorboard: cannot make folder taken/small/paper/"));
  CHECK(blocked.err().find("the training goes on") == blocked.err().rfind("the training goes on"));
}

TEST_CASE("two runs on one folder share the trials: none twice, none missing") {
  const StudyFile file(wide_study());
  const fs::path one = file.folder() / "one/small/paper", two = file.folder() / "two/small/paper";
  Program alone(file.folder(), "run study.toml --quiet --threads 1 --out one");
  Program first(file.folder(), "run study.toml --quiet --threads 1 --out two", "", "first-");
  Program second(file.folder(), "run study.toml --quiet --threads 1 --out two", "", "second-");
  CHECK(alone.wait() == 0);
  CHECK(first.wait() == 0);
  CHECK(second.wait() == 0);
  CHECK(contents(two / "store.sqlite") == contents(one / "store.sqlite"));
  const RunStore store(two / "store.sqlite", RunStore::Access::read);
  CHECK(store.plan().size() == 24);
  for (const PlanEntry& entry : store.plan()) CHECK(store.known(entry.id).attempts == 1);
}

TEST_CASE("the trials of a run that is killed are taken over by the other one") {
  const StudyFile file(long_study());
  const fs::path store = file.folder() / "runs/small/paper/store.sqlite";
  Program victim(file.folder(), "run study.toml --quiet --threads 2", "", "victim-");
  while (victim.is_running() && !fs::exists(store)) usleep(1000);
  usleep(50000);
  Program heir(file.folder(), "run study.toml --quiet --threads 2", "", "heir-");
  usleep(100000);
  victim.signal(SIGKILL);
  victim.wait();
  CHECK(heir.wait() == 0);
  const RunStore both(store, RunStore::Access::read);
  CHECK(both.leases().empty());
  for (const PlanEntry& entry : both.plan()) CHECK(both.known(entry.id).attempts == 1);
}

TEST_CASE("a run that was stopped for longer than its lease changes nothing that another has kept since") {
  const StudyFile file(long_study());
  const fs::path folder = file.folder() / "runs/small/paper";
  Program stale(file.folder(), "run study.toml --quiet --threads 1", "", "stale-");
  bool is_stopped = false;
  while (stale.is_running() && !is_stopped) {
    usleep(20000);
    if (!has_checkpoint(folder)) continue;
    stale.signal(SIGSTOP);
    usleep(100000);  // until each of its threads has stopped: one may be about to begin a transaction
    try {            // its lease ends now; unless it was stopped in a transaction
      Database store(folder / "store.sqlite", false);
      store.run("PRAGMA busy_timeout = 100; UPDATE leases SET heartbeat = 0");
      is_stopped = store.number("SELECT count(*) FROM leases") > 0;
    } catch (const headroom::Error&) {
    }
    if (!is_stopped) stale.signal(SIGCONT);
  }
  REQUIRE(is_stopped);
  // With other kernels: weights of the first run would not be those of the second one's rows.
  Program heir(file.folder(), "run study.toml --quiet --threads 1", "HEADROOM_ISA=portable", "heir-");
  const int status = heir.wait();
  INFO(heir.err());
  REQUIRE(status == 0);
  const std::string wanted = contents(folder / "store.sqlite");
  const std::map<std::string, std::string> weights = files_in(folder / "weights");
  CHECK(weights.size() == 4);
  stale.signal(SIGCONT);
  CHECK(stale.wait() == 0);
  CHECK(contains(stale.err(), " was taken over by another run\n"));
  CHECK(contents(folder / "store.sqlite") == wanted);
  CHECK(files_in(folder / "weights") == weights);
  CHECK_FALSE(fs::exists(folder / "checkpoints"));
  output_of(file.folder(), "doctor runs");
}

/// The study is begun here, killed, and gone on with on a host of another environment.
void check_begun_anew(const std::string& elsewhere, const std::string& level) {
  const StudyFile file(long_study());
  output_of(file.folder(), "run study.toml --quiet --threads 1 --out whole", elsewhere);
  const fs::path cut = file.folder() / "cut/small/paper";
  Program killed(file.folder(), "run study.toml --quiet --threads 1 --out cut");
  while (killed.is_running() && !has_checkpoint(cut)) usleep(500);
  killed.signal(SIGKILL);
  killed.wait();
  REQUIRE(RunStore(cut / "store.sqlite", RunStore::Access::read).known().empty());
  Program last(file.folder(), "run study.toml --quiet --threads 1 --out cut", elsewhere);
  CHECK(last.wait() == 0);
  CHECK(contains(last.err(), fmt::format(": was begun with kernels {}, whose bits differ from those of {}, ",
                                         headroom::engine::kernel_level(), level)));
  CHECK(contains(last.err(), "; the trial starts over\n"));
  CHECK(contents(cut / "store.sqlite") == contents(file.folder() / "whole/small/paper/store.sqlite"));
  CHECK(files_in(cut / "weights") == files_in(file.folder() / "whole/small/paper/weights"));
}

TEST_CASE("a trial that was begun with other kernels is begun anew, and ends with the bits of one kind") {
  if (headroom::engine::detected_isa() == headroom::engine::Isa::portable)
    return skip("this CPU has one level of kernels");
  check_begun_anew("HEADROOM_ISA=portable", "portable");
}

TEST_CASE("so is one that was begun where another library multiplies") {
  if (lacks_onednn()) return;
  const std::string level = headroom::engine::kernel_level();
  check_begun_anew(without_onednn(), level.substr(0, level.find(',')) + ", own products");
}

TEST_CASE("status tells what is finished, failed and running; --json prints one event per line") {
  const StudyFile file(replaced(long_study(), "save_every = 0.01\n", ""));
  Program run(file.folder(), "run study.toml --json --threads 1 --set train.steps=2000", "", "run-");
  bool was_running = false;
  while (run.is_running() && !was_running) {
    usleep(5000);
    Program status(file.folder(), "status small --json", "", "status-");
    status.wait();
    was_running = contains(status.out(), R"("running":1)") && contains(status.out(), R"("alive":true)");
  }
  CHECK(was_running);
  CHECK(run.wait() == 0);
  const std::string events = run.out();
  CAPTURE(events);
  for (const char* event : {R"("event":"study")", R"("event":"trial")", R"("event":"end")"})
    CHECK(contains(events, event));
  for (size_t at = 0; at < events.size(); at = events.find('\n', at) + 1) CHECK(events[at] == '{');
  CHECK(run.err().empty());
  CHECK(output_of(file.folder(), "status study.toml") ==
        "small · paper+train.steps=2000   4 of 4 trials finished, 0 failed, 0 running, 0 to do\n");
  CHECK(contains(complaint(file.folder(), "status another", 1), "runs: there is no run store of another"));
}

TEST_CASE("a store of a newer program stops a run with both versions") {
  const StudyFile file(small_study());
  const fs::path path = file.folder() / "runs/small/paper/store.sqlite";
  { RunStore store(path); }
  Database(path, false).run("PRAGMA user_version = 9");
  CHECK(contains(complaint(file.folder(), "run study.toml --quiet", 1),
                 "store.sqlite: run store: written by a newer headroom: schema version 9, this one knows 4"));
}
