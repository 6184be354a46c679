// Stores whose folder several hosts share: shards, claims, and what is folded from them.
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "experiments/studies/run/examine.h"
#include "experiments/studies/run/run_state.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/run/store/shared_folder.h"
#include "experiments/studies/run/stored_runs.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

namespace fs = std::filesystem;

const std::string id_a(32, 'a'), id_b(32, 'b');

TrialRecord ended(const std::string& id, double mse) {
  TrialRecord trial;
  trial.id = id;
  trial.validation = {{"mse", mse}, {"none", NAN}};
  trial.test = {{"mse", mse * 1.1}};
  trial.test_parts = {{"mse", {mse, mse * 1.2}}};
  trial.history = {{3, "train", "loss", mse}, {6, "train", "loss", mse / 3}};
  trial.predictions = {{0.5, mse}, {-0.5, -mse}};
  trial.steps = 7;
  trial.parameters = 12;
  trial.flops = 1e9;
  trial.seconds = 0.25;
  trial.config = R"({"seed":1,"train":{"timed":false}})";
  trial.code = "0.1";
  trial.data = {{"corpus.txt", "ab12"}};
  trial.weights = "1234";
  return trial;
}

TrialRecord failed(const std::string& id, const std::string& message) {
  TrialRecord trial = ended(id, 1);
  trial.validation.clear();
  trial.test.clear();
  trial.status = TrialStatus::failed;
  trial.message = message;
  return trial;
}

/// A run whose folder is shared, and its stores as several processes would open them.
struct SharedRun {
  TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "study" / "quick", store = folder / "store.sqlite";
  SharedRun() { share_run(folder); }

  /// The only shard, or that of so many trials' lines.
  fs::path shard(size_t lines = 0) const {
    for (const auto& entry : fs::directory_iterator(folder / "shards")) {
      const std::string text = read_bytes(entry.path());
      if (lines == 0 || std::count(text.begin(), text.end(), '\n') == std::ptrdiff_t(lines)) return entry.path();
    }
    throw std::runtime_error("there is no such shard");
  }
  /// Sets a file's time of change to so many seconds ago.
  static void age(const fs::path& file, double seconds) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::milliseconds(int64_t(seconds * 1000)));
  }
};

/// A process of another host: only its heartbeat tells whether it lives.
Owner on_other_host(const std::string& name) { return {name, "node7 0000 pid:[1]", 4711, "1"}; }

/// All that a store has of trials, but for the times.
std::string contents(const fs::path& path) {
  std::string text;
  RunStore(path, RunStore::Access::read).each([&](TrialRecord&& t) {
    text += fmt::format("{} {} {} {} {} {} {} {:a}\n", t.id, name_of(t.status), t.message, t.config, t.weights,
                        t.attempts, t.steps, t.flops);
    for (const auto& [metric, value] : t.test) text += fmt::format("{} {:a} ", metric, value);
    for (const auto& [metric, value] : t.validation) text += fmt::format("{} {:a} ", metric, value);
    for (const HistoryPoint& p : t.history) text += fmt::format("{} {} {} {:a} ", p.step, p.split, p.metric, p.value);
    for (const auto& [target, output] : t.predictions) text += fmt::format("{:a} {:a} ", target, output);
  });
  return text;
}

}  // namespace

TEST_CASE("a shared folder gives back to the bit what several put, as one store would") {
  const SharedRun run;
  const fs::path plain = run.temporary.path() / "study" / "plain" / "store.sqlite";
  {
    RunStore first(run.store), second(run.store), one(plain);
    first.put(ended("a", 0.1 + 0.2));
    second.put(failed("b", "failed at step 3: loss is not finite"));
    CHECK(first.known().at("b").attempts == 1);
    second.put(ended("c", 1.0 / 3));
    for (const TrialRecord& trial :
         {ended("a", 0.1 + 0.2), failed("b", "failed at step 3: loss is not finite"), ended("c", 1.0 / 3)})
      one.put(trial);
    CHECK(first.find("a")->is_checked);
  }
  CHECK(contents(run.store) == contents(plain));
  CHECK_FALSE(fs::exists(run.store));
  CHECK(RunStore::exists(run.store));
  CHECK(stored_runs(run.temporary.path()).size() == 2);
}

TEST_CASE("a line that a killed process left half is nobody's, and its trial is to be run again") {
  const SharedRun run;
  {
    RunStore store(run.store);
    store.put(ended("a", 1));
    store.put(ended("b", 2));
  }
  fs::resize_file(run.shard(), fs::file_size(run.shard()) - 10);
  SharedRun::age(run.shard(), 1000);
  RunStore next(run.store);
  CHECK(next.known().size() == 1);
  CHECK(next.acquire("b", "b", this_process(), {}, wall_clock()) == LeaseResult::taken);
  next.put(ended("b", 2));
  CHECK(next.known().size() == 2);
}

TEST_CASE("a line whose bytes changed is an error that names it, once they cannot be on their way any more") {
  const SharedRun run;
  {
    RunStore store(run.store);
    store.put(ended("a", 1));
    store.put(ended("b", 2));
  }
  std::string text = read_bytes(run.shard());
  text[text.find("\"parameters\":12") + 13] = '3';
  std::ofstream(run.shard()) << text;
  CHECK(RunStore(run.store).known().empty());  // the second line is read when the first can be
  SharedRun::age(run.shard(), 61);
  const std::string error = error_of([&] { RunStore store(run.store); });
  const fs::path shard = run.shard();
  CHECK(contains(error, shard.string() + ":1: is not what was written (wrong checksum)"));
  CHECK(examine_store(run.store).damage == std::vector<std::string>{error});
  RunStore(run.folder.parent_path() / "whole" / "store.sqlite").put(ended("a", 1));
  CHECK(repair_store(run.folder.parent_path() / "whole" / "store.sqlite").empty());
  const std::vector<std::string> done = repair_store(run.store);
  REQUIRE(done.size() == 1);
  CHECK(contains(done[0], shard.string() + " has its sound lines, 1; "));
  CHECK(read_bytes(shard.string() + ".damaged-1") == text);
  CHECK(read_bytes(shard) == text.substr(text.find('\n') + 1));
  CHECK(RunStore(run.store).known().count("b") == 1);
  CHECK(repair_store(run.store).empty());
}

TEST_CASE("a claim keeps others away while the server's clock says that it is fresh") {
  const SharedRun run;
  RunStore mine(run.store), theirs(run.store);
  const Owner me = this_process(), other = on_other_host("other");
  const fs::path claim = run.folder / "claims" / "a";
  // This host's clock, `now`, may say what it likes.
  for (const double wrong : {-1e6, 0.0, 1e6}) {
    const double now = wall_clock() + wrong;
    CHECK(theirs.acquire("a", "heads=1", other, {}, now) == LeaseResult::taken);
    CHECK(mine.acquire("a", "heads=1", me, {}, now) == LeaseResult::held);
    SharedRun::age(claim, 59);
    CHECK(mine.acquire("a", "heads=1", me, {}, now) == LeaseResult::held);
    SharedRun::age(claim, 61);
    CHECK(theirs.renew({{.trial = "a", .label = "", .owner = other, .step = 3, .steps = 9, .loss = 0.5}}, now).empty());
    CHECK(mine.acquire("a", "heads=1", me, {}, now) == LeaseResult::held);
    SharedRun::age(claim, 61);
    CHECK(mine.acquire("a", "heads=1", me, {}, now) == LeaseResult::taken);
    // Who lost it is told so, and changes nothing.
    CHECK(theirs.renew({{.trial = "a", .label = "", .owner = other}}, now) == std::vector<std::string>{"a"});
    CHECK_FALSE(theirs.put(ended("a", 1), &other));
    CHECK_FALSE(theirs.while_held("a", other, [] { FAIL("it is another's"); }));
    theirs.release("a", other);
    REQUIRE(mine.leases().size() == 1);
    CHECK(mine.leases()[0].owner.name == me.name);
    CHECK(std::isnan(mine.leases()[0].loss));
    mine.release("a", me);
    CHECK(mine.leases().empty());
  }
}

TEST_CASE("a claim from the future counts until it was seen unchanged for as long as a lease") {
  const SharedRun run;
  RunStore mine(run.store);
  const Owner me = this_process(), other = on_other_host("other");
  REQUIRE(RunStore(run.store).acquire("a", "", other, {}, wall_clock()) == LeaseResult::taken);
  SharedRun::age(run.folder / "claims" / "a", -3600);
  CHECK(mine.acquire("a", "", me, {}, wall_clock(), 1000) == LeaseResult::held);
  CHECK(mine.acquire("a", "", me, {}, wall_clock(), 1059) == LeaseResult::held);
  CHECK(mine.acquire("a", "", me, {}, wall_clock(), 1061) == LeaseResult::taken);
}

TEST_CASE("a claim without its owner's name is held until it is old; what a claim says is seen by others") {
  const SharedRun run;
  RunStore store(run.store);
  fs::create_directories(run.folder / "claims");
  std::ofstream(run.folder / "claims" / id_a) << "{\"lab";
  CHECK(store.acquire(id_a, "", this_process(), {}, wall_clock()) == LeaseResult::held);
  SharedRun::age(run.folder / "claims" / id_a, 61);
  CHECK(store.acquire(id_a, "heads=1", this_process(), {}, wall_clock()) == LeaseResult::taken);
  store.set_plan({{"title", "T"}}, {{id_a, "", "heads=1", 1, {}, 1}, {id_b, "", "heads=2", 2, {{"lr", 0.1}}, 1}});
  store.renew({{.trial = id_a, .label = "", .owner = this_process(), .step = 3}}, 0);
  const RunState state = read_run_state(RunStore(run.store, RunStore::Access::read));
  CHECK(state.title == "T");
  CHECK(state.running == 1);
  CHECK(state.to_do() == 1);
  CHECK(state.trials[1].entry.choice.at("lr") == 0.1);
}

TEST_CASE("whoever was killed as it took an old claim away keeps others from it for as long as a lease") {
  const SharedRun run;
  RunStore store(run.store);
  RunStore(run.store).acquire("a", "", on_other_host("old"), {}, wall_clock());
  const fs::path claim = run.folder / "claims" / "a", door = run.folder / "claims" / ".a.heir";
  std::ofstream(door) << "";
  SharedRun::age(claim, 100);
  CHECK(store.acquire("a", "", this_process(), {}, wall_clock()) == LeaseResult::held);
  CHECK(fs::exists(door));
  SharedRun::age(door, 61);
  CHECK(store.acquire("a", "", this_process(), {}, wall_clock()) == LeaseResult::held);
  CHECK(store.acquire("a", "", this_process(), {}, wall_clock()) == LeaseResult::taken);
  CHECK_FALSE(fs::exists(door));
}

TEST_CASE("of many that want an old claim one gets it") {
  const SharedRun run;
  for (int round = 0; round < 20; ++round) {
    RunStore(run.store).acquire("a", "", on_other_host("old"), {}, wall_clock());
    SharedRun::age(run.folder / "claims" / "a", 100);
    std::atomic<int> taken{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i)
      threads.emplace_back([&, i] {
        const Claims claims(run.folder / "claims");
        const auto counts = [](const Lease& there, double now) { return now - there.heartbeat < lease_seconds; };
        taken += claims.take({.trial = "a", .label = "", .owner = on_other_host(std::to_string(i))}, counts);
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(taken == 1);
    fs::remove_all(run.folder / "claims");
  }
}

TEST_CASE("a trial that two computed is no harm where they agree, and an error that names both where they do not") {
  const SharedRun run;
  RunStore first(run.store), second(run.store);
  first.put(ended("a", 1));
  second.put(ended("a", 1));
  CHECK(first.known().at("a").attempts == 2);
  TrialRecord newer = ended("n", 1);
  first.put(newer);
  newer.weights = "5678";
  newer.code = "0.2";  // which the checksum covers
  second.put(newer);
  CHECK(first.find("n")->weights == second.find("n")->weights);
  TrialRecord timed = ended("t", 1);
  timed.config = R"({"train":{"timed":true}})";
  first.put(timed);
  timed.test["mse"] = 7;
  second.put(timed);  // how long it took is another number each time
  first.known();
  CHECK(first.find("t")->test.at("mse") == second.find("t")->test.at("mse"));
  first.put(ended("b", 1));
  const std::string error = error_of([&] { second.put(ended("b", 2)); });
  CHECK(contains(error, "trial b has two results that differ: test mse "));
  for (const auto& shard : fs::directory_iterator(run.folder / "shards"))
    CHECK(contains(error, shard.path().string() + ":4 ("));
  CHECK(error_of([&] { first.known(); }).find("trial b has two results that differ") == 0);
  CHECK(error_of([&] { RunStore store(run.store); }).find("trial b has two results that differ") == 0);
  const SharedRun weights;
  RunStore one(weights.store), two(weights.store);
  one.put(ended("c", 1));
  TrialRecord other = ended("c", 1);
  other.weights = "5678";
  CHECK(contains(error_of([&] { two.put(other); }), "differ: their curves, predictions or weights in "));
}

TEST_CASE("what is folded does not depend on the order of the shards") {
  std::vector<std::string> found;
  for (const bool is_swapped : {false, true}) {
    const SharedRun run;
    {
      RunStore one(run.store), two(run.store);
      RunStore &first = is_swapped ? two : one, &second = is_swapped ? one : two;
      one.put(failed("x", "makes the first shard"));
      two.put(failed("x", "makes the second shard"));
      first.put(failed("a", "once"));
      second.put(ended("a", 1));
      second.put(ended("b", 1));
      first.put(failed("b", "too late"));
    }
    RunStore store(run.store);
    CHECK(store.known().at("a").is_finished);
    CHECK(store.known().at("a").attempts == 2);
    found.push_back(contents(run.store));
  }
  CHECK(found[0] == found[1]);
}

TEST_CASE("a trial that ended elsewhere since is done, also one that failed again") {
  const SharedRun run;
  RunStore mine(run.store), theirs(run.store);
  theirs.put(ended("a", 1));
  CHECK(mine.acquire("a", "", this_process(), {}, wall_clock()) == LeaseResult::done);
  theirs.put(failed("b", "failed"));
  const RunStore::Known known = mine.known().at("b");
  theirs.put(failed("b", "failed again"));
  CHECK(mine.acquire("b", "", this_process(), known, wall_clock()) == LeaseResult::done);
  CHECK(mine.leases().empty());
}

TEST_CASE("notes, tags and imports are shared, too") {
  const SharedRun run;
  RunStore mine(run.store), theirs(run.store);
  mine.add_note("first");
  theirs.add_note("second");
  theirs.add_tag("good");
  const std::vector<Note> notes = RunStore(run.store).notes();
  REQUIRE(notes.size() == 2);
  CHECK(notes[1].text == "second");
  CHECK(RunStore(run.store).remove_note(notes[0].id));
  CHECK_FALSE(RunStore(run.store).remove_tag("bad"));
  const auto [added, there] = mine.take_over({{{"id", "s"}}, {{id_a, "", "l", 1, {}, 1}}, {"new"}, {}},
                                             [](const auto& take) { take(ended(id_a, 1)); });
  CHECK(added == 1);
  CHECK(there == 0);
  const RunStore store(run.store, RunStore::Access::read);
  CHECK(store.notes().size() == 1);
  CHECK(store.tags() == std::vector<std::string>{"good", "new"});
  CHECK(store.plan().size() == 1);
  CHECK(store.find(id_a)->test.at("mse") == 1.1);
}

TEST_CASE("a store of one host becomes a shared one with all that it has") {
  const TemporaryFolder folder;
  const fs::path store = folder.path() / "s" / "quick" / "store.sqlite";
  {
    RunStore before(store);
    before.put(ended("a", 1));
    before.put(failed("b", "failed"));
    before.set_plan({{"title", "T"}}, {{id_a, "", "l", 1, {}, 1}});
    before.add_note("note");
    REQUIRE(before.acquire("c", "", this_process(), {}, wall_clock()) == LeaseResult::taken);
  }
  const std::string wanted = contents(store);
  CHECK(contains(error_of([&] { share_run(store.parent_path()); }), "stop that one before its folder is shared"));
  CHECK_FALSE(is_shared(store.parent_path()));
  CHECK(contents(store) == wanted);
  {
    RunStore before(store);
    before.release("c", before.leases()[0].owner);
  }
  RunStore late(store);  // of a process that began before
  share_run(store.parent_path());
  share_run(store.parent_path());
  CHECK(contains(error_of([&] { late.put(ended("d", 1)); }), "other hosts share its folder since this command began"));
  CHECK(contains(error_of([&] { late.acquire("d", "", this_process(), {}, 0); }), "run it again"));
  CHECK(is_shared(store.parent_path()));
  CHECK_FALSE(fs::exists(store));
  CHECK(contents(store) == wanted);
  CHECK(RunStore(store).notes().size() == 1);
  CHECK(RunStore(store).study().at("title") == "T");
  CHECK_FALSE(is_on_network("/"));
}

TEST_CASE("a shard that cannot be written is an error, and what was kept stays") {
  const SharedRun run;
  std::string error;
  {
    RunStore store(run.store);
    store.put(ended("a", 1));
    std::signal(SIGXFSZ, SIG_IGN);  // a limit on file size stands for the full disk
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    rlimit small = before;
    small.rlim_cur = fs::file_size(run.shard()) + 100;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    error = error_of([&] { store.put(ended("b", 2)); });
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(contains(error, "shards: run store: cannot be written: File too large"));
    const fs::path first = run.shard();
    const std::string kept = read_bytes(first);
    store.put(ended("c", 3));
    CHECK(read_bytes(first) == kept);  // readers may have been further in it
  }
  CHECK(RunStore(run.store).known().size() == 2);
}
