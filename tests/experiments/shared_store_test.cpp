// Stores whose folder several hosts share: shards, claims, and what is folded from them.
#include <sys/stat.h>

#include <fstream>
#include <numeric>
#include <set>
#include <thread>

#include "experiments/studies/config/trial_config.h"
#include "experiments/studies/run/examine.h"
#include "experiments/studies/run/run_state.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/run/store/shared_folder.h"
#include "experiments/studies/run/stored_runs.h"
#include "models/files/temporary_name.h"
#include "tests/experiments/shared_run.h"
#include "tests/support/catch.h"
#include "tests/support/full_disk.h"

using namespace headroom::experiments;
using namespace headroom::testing;

namespace fs = std::filesystem;

TEST_CASE("a shared folder gives back to the bit what several put, as one store would") {
  const SharedRun run;
  const fs::path plain = run.temporary.path() / "study" / "plain" / "store.sqlite";
  const auto open_files = [] { return std::distance(fs::directory_iterator("/proc/self/fd"), {}); };
  const auto before = open_files();
  {
    RunStore first(run.store), second(run.store), one(plain);
    first.put(ended("a", 0.1 + 0.2));
    second.put(failed("b", "failed at step 3: loss is not finite"));
    CHECK(first.known().at(id("b")).attempts == 1);
    second.put(ended("c", 1.0 / 3));
    second.put(ended("d", -0.0));
    for (const TrialRecord& trial : {ended("a", 0.1 + 0.2), failed("b", "failed at step 3: loss is not finite"),
                                     ended("c", 1.0 / 3), ended("d", -0.0)})
      one.put(trial);
    CHECK(first.find(id("a"))->is_checked);
  }
  CHECK(trials_in(run.store) == trials_in(plain));
  CHECK(open_files() == before);
  CHECK_FALSE(fs::exists(run.store));
  CHECK(RunStore::exists(run.store));
  CHECK(stored_runs(run.temporary.path()).size() == 2);
}

TEST_CASE("a line that a killed process left half is nobody's, and its trial is to be run again") {
  const SharedRun run;
  put(run.store, {ended("a", 1), ended("b", 2)});
  fs::resize_file(run.shard(), fs::file_size(run.shard()) - 10);
  SharedRun::age(run.shard(), 1000);
  RunStore next(run.store);
  CHECK(faults_of(run.store).empty());
  CHECK(next.known().size() == 1);
  CHECK(next.acquire(id("b"), "b", this_process(), {}, wall_clock()) == LeaseResult::taken);
  next.put(ended("b", 2));
  CHECK(next.known().size() == 2);
}

TEST_CASE("a line whose bytes changed is named and left out, whatever the clock says, and the others are read") {
  for (const double seconds : {0.0, -1e8, 1e6}) {
    const SharedRun run;
    put(run.store, {ended("a", 1), ended("b", 2)});
    std::string text = read_bytes(run.shard());
    text[text.find("\"parameters\":12") + 13] = '3';
    std::ofstream(run.shard()) << text;
    SharedRun::age(run.shard(), seconds);
    const fs::path shard = run.shard();
    const std::vector<std::string> wanted{shard.string() + ":1: is not what was written (wrong checksum)"};
    CHECK(faults_of(run.store) == wanted);
    CHECK(RunStore(run.store).known().size() == 1);
    CHECK(RunStore(run.store).known().count(id("b")) == 1);
    CHECK(damage_of(run.store) == wanted);
    const std::vector<std::string> done = repair_store(run.store);
    REQUIRE(done.size() == 1);
    CHECK(contains(done[0], shard.string() + " has its sound lines, 1; "));
    CHECK(read_bytes(shard.string() + ".damaged-1") == text);
    CHECK(read_bytes(shard) == text.substr(text.find('\n') + 1));
    CHECK(faults_of(run.store).empty());
    CHECK(RunStore(run.store).known().count(id("b")) == 1);
    CHECK(repair_store(run.store).empty());
  }
  const SharedRun whole;
  RunStore(whole.folder.parent_path() / "whole" / "store.sqlite").put(ended("a", 1));
  CHECK(repair_store(whole.folder.parent_path() / "whole" / "store.sqlite").empty());
}

TEST_CASE("a claim keeps others away while the server's clock says that it is fresh") {
  const SharedRun run;
  RunStore mine(run.store), theirs(run.store);
  const Owner me = this_process(), other = on_other_host("other");
  const fs::path claim = run.folder / "claims" / id("a");
  // This host's clock, `now`, may say what it likes.
  for (const double wrong : {-1e6, 0.0, 1e6}) {
    const double now = wall_clock() + wrong;
    CHECK(theirs.acquire(id("a"), "heads=1", other, {}, now) == LeaseResult::taken);
    CHECK(mine.acquire(id("a"), "heads=1", me, {}, now) == LeaseResult::held);
    SharedRun::age(claim, 59);
    CHECK(mine.acquire(id("a"), "heads=1", me, {}, now) == LeaseResult::held);
    SharedRun::age(claim, 61);
    CHECK(theirs.renew({{.trial = id("a"), .label = "", .owner = other, .step = 3, .steps = 9, .loss = 0.5}}, now)
              .empty());
    CHECK(mine.acquire(id("a"), "heads=1", me, {}, now) == LeaseResult::held);
    SharedRun::age(claim, 61);
    CHECK(mine.acquire(id("a"), "heads=1", me, {}, now) == LeaseResult::taken);
    // Who lost it is told so, and changes nothing.
    CHECK(theirs.renew({{.trial = id("a"), .label = "", .owner = other}}, now) == std::vector<std::string>{id("a")});
    CHECK_FALSE(theirs.put(ended("a", 1), &other));
    CHECK_FALSE(theirs.while_held(id("a"), other, [] { FAIL("it is another's"); }));
    theirs.release(id("a"), other);
    REQUIRE(mine.leases().size() == 1);
    CHECK(mine.leases()[0].owner.name == me.name);
    CHECK(std::isnan(mine.leases()[0].loss));
    mine.release(id("a"), me);
    CHECK(mine.leases().empty());
  }
}

TEST_CASE("a claim that is gone is its owner's no more; leases stand in the order of their labels") {
  const SharedRun run;
  RunStore store(run.store);
  const Owner me = this_process();
  const auto is_held = [&] { return store.while_held(id("a"), me, [] {}); };
  CHECK_FALSE(is_held());  // there is no folder of claims yet
  const std::string first = std::min(id("a"), id("b")), second = std::max(id("a"), id("b"));
  REQUIRE(store.acquire(first, "heads=2", me, {}, 0) == LeaseResult::taken);
  REQUIRE(store.acquire(second, "heads=1", me, {}, 0) == LeaseResult::taken);
  CHECK(is_held());
  CHECK(store.leases()[0].trial == second);
  const Lease lease{.trial = id("a"), .label = "", .owner = me};
  CHECK(store.renew({lease}, 0).empty());
  store.renew({{.trial = id("a"), .label = "", .owner = me, .step = 3, .steps = 9, .loss = 0.5}}, 0);
  store.renew({{.trial = id("b"), .label = "", .owner = me, .loss = NAN}}, 0);
  REQUIRE(store.live_points().size() == 1);
  CHECK(store.live_points()[0].loss == 0.5);
  fs::remove(run.folder / "claims" / id("a"));
  CHECK(store.renew({lease}, 0) == std::vector<std::string>{id("a")});
  fs::create_directories(run.folder / "claims" / id("a"));
  CHECK(store.renew({lease}, 0) == std::vector<std::string>{id("a")});
  fs::remove_all(run.folder / "claims");
  CHECK_FALSE(is_held());
  CHECK(store.leases().empty());
  std::ofstream(run.folder / "claims") << "";
  CHECK(contains(error_of(is_held), "claims: is a file, not a folder"));
}

TEST_CASE("a claim from the future counts until it was seen unchanged for as long as a lease") {
  const SharedRun run;
  RunStore mine(run.store);
  const Owner me = this_process(), other = on_other_host("other");
  REQUIRE(RunStore(run.store).acquire(id("a"), "", other, {}, wall_clock()) == LeaseResult::taken);
  SharedRun::age(run.folder / "claims" / id("a"), -3600);
  CHECK(mine.acquire(id("a"), "", me, {}, wall_clock(), 1000) == LeaseResult::held);
  CHECK(mine.acquire(id("a"), "", me, {}, wall_clock(), 1059) == LeaseResult::held);
  CHECK(mine.acquire(id("a"), "", me, {}, wall_clock(), 1061) == LeaseResult::taken);
}

TEST_CASE("a claim without its owner's name is held until it is old; what a claim says is seen by others") {
  const SharedRun run;
  RunStore store(run.store);
  fs::create_directories(run.folder / "claims");
  std::ofstream(run.folder / "claims" / id("a")) << "{\"lab";
  CHECK(store.acquire(id("a"), "", this_process(), {}, wall_clock()) == LeaseResult::held);
  SharedRun::age(run.folder / "claims" / id("a"), 61);
  CHECK(store.acquire(id("a"), "heads=1", this_process(), {}, wall_clock()) == LeaseResult::taken);
  store.set_plan({{"title", "T"}}, {{id("a"), "", "heads=1", 1, {}, 1}, {id("b"), "", "heads=2", 2, {{"lr", 0.1}}, 1}});
  store.renew({{.trial = id("a"), .label = "", .owner = this_process(), .step = 3}}, 0);
  const RunState state = read_run_state(RunStore(run.store, RunStore::Access::read));
  CHECK(state.title == "T");
  CHECK(state.running == 1);
  CHECK(state.to_do() == 1);
  CHECK(state.trials[1].entry.choice.at("lr") == 0.1);
}

TEST_CASE("whoever was killed as it took an old claim away keeps others from it for as long as a lease") {
  const SharedRun run;
  RunStore store(run.store);
  RunStore(run.store).acquire(id("a"), "", on_other_host("old"), {}, wall_clock());
  const fs::path claim = run.folder / "claims" / id("a"), door = run.folder / "claims" / ("." + id("a") + ".heir");
  std::ofstream(door) << "";
  SharedRun::age(claim, 100);
  CHECK(store.acquire(id("a"), "", this_process(), {}, wall_clock()) == LeaseResult::held);
  CHECK(fs::exists(door));
  SharedRun::age(door, 61);
  CHECK(store.acquire(id("a"), "", this_process(), {}, wall_clock()) == LeaseResult::held);
  CHECK(store.acquire(id("a"), "", this_process(), {}, wall_clock()) == LeaseResult::taken);
  CHECK_FALSE(fs::exists(door));
}

TEST_CASE("of many that want an old claim one gets it") {
  const SharedRun run;
  for (int round = 0; round < 20; ++round) {
    RunStore(run.store).acquire(id("a"), "", on_other_host("old"), {}, wall_clock());
    SharedRun::age(run.folder / "claims" / id("a"), 100);
    std::atomic<int> taken{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i)
      threads.emplace_back([&, i] {
        const LeaseFiles claims(run.folder / "claims");
        const auto counts = [](const Lease& there, double now) { return now - there.heartbeat < lease_seconds; };
        taken += claims.take({.trial = id("a"), .label = "", .owner = on_other_host(std::to_string(i))}, counts);
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(taken == 1);
    fs::remove_all(run.folder / "claims");
  }
}

TEST_CASE("a trial that two computed is no harm where they agree") {
  const SharedRun run;
  RunStore first(run.store), second(run.store);
  first.put(ended("a", 1));
  second.put(ended("a", 1));
  CHECK(first.known().at(id("a")).attempts == 2);
  TrialRecord newer = ended("n", 1);
  first.put(newer);
  newer.weights = "5678";
  newer.code = "0.2";  // which the checksum covers
  second.put(newer);
  first.known();
  CHECK(first.find(id("n"))->weights == second.find(id("n"))->weights);
  TrialRecord timed = ended("t", 1);
  timed.config = config_of("t", true);
  timed.id = trial_id_of(timed.config);
  first.put(timed);
  timed.test["mse"] = 7;
  second.put(timed);  // how long it took is another number each time
  first.known();
  CHECK(first.find(timed.id)->test.at("mse") == second.find(timed.id)->test.at("mse"));
  CHECK(first.faults().empty());
  CHECK(second.faults().empty());
}

TEST_CASE(
    "of results that differ the one counts on which most lines agree; else the trial has failed, and both are named") {
  const SharedRun run;
  RunStore first(run.store), second(run.store), third(run.store);
  first.put(ended("a", 1));
  first.put(ended("b", 1));
  second.put(ended("b", 2));
  for (const RunStore* store : {&first, &second}) {
    CHECK(store->known().at(id("a")).is_finished);
    CHECK_FALSE(store->known().at(id("b")).is_finished);
    CHECK(store->known().at(id("b")).attempts == 2);
    CHECK(contains(store->find(id("b"))->message, "has two results that differ: test mse "));
    const std::vector<Fault> faults = store->faults();
    REQUIRE(faults.size() == 2);
    CHECK(faults[0].file != faults[1].file);
    CHECK(faults[0].line + faults[1].line == 3);
    for (const Fault& fault : faults)
      for (const Fault& other : faults)
        CHECK(contains(fault.text(), fmt::format("{}:{} (", other.file.string(), other.line)));
  }
  CHECK(faults_of(run.store).size() == 2);
  third.put(ended("b", 2));
  const auto settled = [&] {
    const RunStore store(run.store);
    CHECK(store.known().at(id("b")).is_finished);
    CHECK(store.find(id("b"))->test.at("mse") == 2 * 1.1);
  };
  settled();
  REQUIRE(faults_of(run.store).size() == 1);
  CHECK(contains(faults_of(run.store)[0], run.shard(2).string() + ":2: trial "));
  CHECK(repair_store(run.store).size() == 1);
  settled();
  CHECK(faults_of(run.store).empty());
  CHECK(RunStore(run.store).known().count(id("a")) == 1);

  const SharedRun two;
  RunStore one(two.store), other(two.store);
  TrialRecord trial = ended("c", 1);
  one.put(trial);
  trial.weights = "5678";
  trial.seconds = 7;
  other.put(trial);
  CHECK(contains(faults_of(two.store).at(0), "differ: their curves, predictions or weights in "));
  CHECK(repair_store(two.store).size() == 2);
  CHECK(RunStore(two.store).known().empty());
}

TEST_CASE("what is folded does not depend on the order of the shards") {
  std::vector<std::string> found;
  for (const bool is_swapped : {false, true}) {
    const SharedRun run;
    {
      RunStore one(run.store), two(run.store);
      RunStore &first = is_swapped ? two : one, &second = is_swapped ? one : two;
      one.put(failed("x", "makes a shard"));
      two.put(failed("x", "makes a shard"));
      first.put(failed("a", "once"));
      second.put(ended("a", 1));
      second.put(ended("b", 1));
      first.put(failed("b", "too late"));
    }
    RunStore store(run.store);
    CHECK(store.known().at(id("a")).is_finished);
    CHECK(store.known().at(id("a")).attempts == 2);
    found.push_back(trials_in(run.store));
  }
  CHECK(found[0] == found[1]);
}

TEST_CASE("what the lines of one trial come to does not depend on their order") {
  const auto line = [](double ended_at, double mse, const std::string& weights, const std::string& code = "0.1") {
    TrialRecord trial = ended("a", mse);
    trial.ended = ended_at;
    trial.attempts = 1;
    trial.weights = weights;
    trial.code = code;
    return trial;
  };
  const auto timed = [&](double ended_at, double mse, const std::string& weights) {
    TrialRecord trial = line(ended_at, mse, weights);
    trial.config = config_of("a", true);
    trial.id = trial_id_of(trial.config);
    return trial;
  };
  const auto of_failed = [](double ended_at, const std::string& message) {
    TrialRecord trial = failed("a", message);
    trial.ended = ended_at;
    trial.attempts = 1;
    trial.weights = "";
    return trial;
  };
  const std::vector<std::pair<std::vector<TrialRecord>, std::string>> cases{
      {{of_failed(10, "first"), of_failed(20, "second")}, "failed second  2"},
      {{of_failed(10, "first"), of_failed(20, "second"), of_failed(30, "third")}, "failed third  3"},
      {{of_failed(20, "later"), line(10, 1, "x")}, "finished 1.1 x 2"},
      {{timed(10, 1, "x"), timed(20, 2, ""), timed(30, 3, "z")}, "finished 1.1 z 3"},
      {{timed(10, 1, ""), timed(20, 2, "y")}, "finished 1.1 y 2"},
      {{timed(10, 1, "x"), timed(20, 2, "y")}, "finished 1.1 y 2"},
      {{line(10, 1, "x"), line(20, 1, "y", "0.2"), line(30, 1, "")}, "finished 1.1 y 3"},
      {{line(10, 1, "x"), line(20, 1, "")}, "finished 1.1 x 2"},
      {{line(10, 1, "x"), line(20, 2, "y"), line(30, 2, "y")}, "finished 2.2 y 3"},
      {{line(10, 1, "x"), line(20, 1, "x"), line(30, 2, "y"), of_failed(40, "last")}, "finished 1.1 x 4"},
      {{line(10, 1, "x"), line(20, 1, "y")},
       "failed has two results that differ: their curves, predictions or weights x 2"},
  };
  for (const auto& [lines, wanted] : cases) {
    std::vector<size_t> order(lines.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      const SharedRun run;
      std::ofstream shard(run.folder / "shards" / "x-1.jsonl");
      for (const size_t i : order) shard << shard_line_of(lines[i]);
      shard.close();
      const TrialRecord found = RunStore(run.store).find(lines.back().id).value();
      CHECK(fmt::format("{} {}{} {} {}", name_of(found.status), found.message.substr(0, found.message.find(" in ")),
                        found.test.empty() ? "" : fmt::format("{:g}", found.test.at("mse")), found.weights,
                        found.attempts) == wanted);
    } while (std::next_permutation(order.begin(), order.end()));
  }
  // Of one second the last shard's counts, whichever was read first.
  std::vector<std::string> names{"a-1", "b-1", "c-1"};
  do {
    const SharedRun run;
    const RunStore store(run.store);
    for (const std::string& name : names) {
      std::ofstream(run.folder / "shards" / (name + ".jsonl")) << shard_line_of(of_failed(10, name));
      store.known();
    }
    CHECK(store.find(id("a"))->message == "c-1");
  } while (std::next_permutation(names.begin(), names.end()));
  // No number is no other value than no number.
  const SharedRun run;
  TrialRecord none = line(10, 1, "x"), one = line(20, 1, "x");
  one.validation["none"] = 1;
  std::ofstream(run.folder / "shards" / "x-1.jsonl") << shard_line_of(none) << shard_line_of(one);
  CHECK(contains(faults_of(run.store).at(0), "differ: validation none nan and 1 in "));
  TrialRecord fewer = line(20, 1, "x"), of_other_data = line(20, 1, "x");
  fewer.test.clear();
  of_other_data.data = {{"corpus.txt", "cd34"}};
  std::ofstream(run.folder / "shards" / "x-1.jsonl") << shard_line_of(none) << shard_line_of(fewer);
  CHECK(contains(faults_of(run.store).at(0), "differ: test mse 1.1 and nan in "));
  std::ofstream(run.folder / "shards" / "x-1.jsonl") << shard_line_of(none) << shard_line_of(of_other_data);
  CHECK(contains(faults_of(run.store).at(0), "differ: the files of their data in "));
}

TEST_CASE("a trial that ended elsewhere since is done, also one that failed again") {
  const SharedRun run;
  RunStore mine(run.store), theirs(run.store);
  theirs.put(ended("a", 1));
  CHECK(mine.acquire(id("a"), "", this_process(), {}, wall_clock()) == LeaseResult::done);
  theirs.put(failed("b", "failed"));
  const RunStore::Known known = mine.known().at(id("b"));
  theirs.put(failed("b", "failed again"));
  CHECK(mine.acquire(id("b"), "", this_process(), known, wall_clock()) == LeaseResult::done);
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
  const auto [added, there] = mine.take_over({{{"id", "s"}}, {{id("a"), "", "l", 1, {}, 1}}, {"new"}, {}},
                                             [](const auto& take) { take(ended("a", 1)); });
  CHECK(added == 1);
  CHECK(there == 0);
  const std::string monday = "2026-01-05 03:04:05", tuesday = "2026-01-06 03:04:05";
  for (int twice = 0; twice < 2; ++twice)
    for (const Note& note : {Note{0, monday, "x"}, Note{0, monday, "y"}, Note{0, tuesday, "x"}})
      mine.take_over({{}, {}, {}, {note}}, [](const auto&) {});
  const RunStore store(run.store, RunStore::Access::read);
  CHECK(store.notes().size() == 4);
  CHECK(store.tags() == std::vector<std::string>{"good", "new"});
  CHECK(store.plan().size() == 1);
  CHECK(store.find(id("a"))->test.at("mse") == 1.1);
  CHECK_FALSE(store.find(id("b")));
}

TEST_CASE("a store of one host becomes a shared one with all that it has") {
  const TemporaryFolder folder;
  const fs::path store = folder.path() / "s" / "quick" / "store.sqlite";
  {
    RunStore before(store);
    before.put(ended("a", 1));
    before.put(failed("b", "failed"));
    before.set_plan({{"title", "T"}}, {{id("a"), "", "l", 1, {}, 1}});
    before.add_note("note");
    REQUIRE(before.acquire(id("c"), "", this_process(), {}, wall_clock()) == LeaseResult::taken);
  }
  const std::string wanted = trials_in(store);
  CHECK(contains(error_of([&] { share_run(store.parent_path()); }), "stop that one before its folder is shared"));
  CHECK_FALSE(is_shared(store.parent_path()));
  CHECK(trials_in(store) == wanted);
  {
    RunStore before(store);
    before.release(id("c"), before.leases()[0].owner);
  }
  RunStore late(store);  // of a process that began before
  share_run(store.parent_path());
  share_run(store.parent_path());
  CHECK(contains(error_of([&] { late.put(ended("d", 1)); }), "other hosts share its folder since this command began"));
  CHECK(contains(error_of([&] { late.acquire(id("d"), "", this_process(), {}, 0); }), "run it again"));
  CHECK(is_shared(store.parent_path()));
  CHECK_FALSE(fs::exists(store));
  CHECK(trials_in(store) == wanted);
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
    {
      const FullDisk disk(fs::file_size(run.shard()) + 100);
      error = error_of([&] { store.put(ended("b", 2)); });
      const FullDisk fuller(100);
      CHECK_THROWS(RunStore(run.store).put(ended("b", 2)));
    }
    CHECK(contains(error, "shards: run store: cannot be written: File too large"));
    const fs::path first = run.shard();
    CHECK(std::distance(fs::directory_iterator(run.folder / "shards"), {}) == 1);  // none that nothing was written to
    const std::string kept = read_bytes(first);
    store.put(ended("c", 3));
    CHECK(read_bytes(first) == kept);  // readers may have been further in it
  }
  CHECK(RunStore(run.store).known().size() == 2);
}

TEST_CASE("a worker whose shard was moved aside, replaced or removed goes on in another, and loses nothing") {
  const SharedRun run;
  RunStore worker(run.store), reader(run.store);
  worker.put(ended("a", 1));
  CHECK(reader.known().size() == 1);
  CHECK_FALSE(reader.has_lost());
  CHECK_FALSE(RunStore(run.temporary.path() / "plain" / "store.sqlite").has_lost());
  const fs::path first = run.shard(), kept = first.string() + ".damaged-1";
  fs::rename(first, kept);
  worker.put(ended("b", 2));
  CHECK(read_bytes(kept).find(id("b")) == std::string::npos);
  fs::copy_file(run.shard(), run.shard().string() + ".copy");
  fs::rename(run.shard().string() + ".copy", run.shard());  // as a repair leaves it
  worker.put(ended("c", 3));
  CHECK(RunStore(run.store).known().size() == 2);
  CHECK(reader.known().size() == 3);  // it had read the first
  CHECK(reader.has_lost());
  fs::remove(run.shard());
  worker.put(ended("d", 4));
  fs::rename(kept, first.parent_path() / "again-1.jsonl");
  const auto known = RunStore(run.store).known();
  for (const char* name : {"a", "d"}) CHECK(known.contains(id(name)));
  CHECK_FALSE(worker.faults().size());
}

TEST_CASE("a line that went to a file which was moved aside in that moment stands in another, too") {
  const SharedRun run;
  RunStore worker(run.store);
  std::atomic<bool> is_over{false};
  std::thread mover([&] {
    for (int n = 0; !is_over; ++n)
      for (const auto& entry : fs::directory_iterator(run.folder / "shards")) {
        std::error_code gone;
        if (entry.path().extension() == ".jsonl")
          fs::rename(entry.path(), entry.path().string() + fmt::format(".{}.old", n), gone);
        usleep(2000);
      }
  });
  // Each trial is where readers find it when put() returns, or was there until it was moved as a whole.
  for (int n = 0; n < 100; ++n) worker.put(ended(fmt::format("t{}", n), n));
  is_over = true;
  mover.join();
  std::set<std::string> found;
  for (const auto& entry : fs::directory_iterator(run.folder / "shards")) {
    const std::string text = read_bytes(entry.path());
    for (int n = 0; n < 100; ++n)
      if (text.find(id(fmt::format("t{}", n))) != std::string::npos) found.insert(id(fmt::format("t{}", n)));
  }
  CHECK(found.size() == 100);
}

TEST_CASE("a repair waits for a process of this machine that is stopped, not for one of another host that is silent") {
  const SharedRun run;
  RunStore store(run.store);
  store.put(ended("a", 1));
  std::ofstream(run.folder / "shards" / "x-1.jsonl") << "damaged\n";
  const Owner here = this_process();
  REQUIRE(store.acquire(id("b"), "", here, {}, 0) == LeaseResult::taken);
  SharedRun::age(run.folder / "claims" / id("b"), 100);
  CHECK(contains(error_of([&] { repair_store(run.store); }), "stop that one before the repair"));
  store.release(id("b"), here);
  REQUIRE(store.acquire(id("b"), "", on_other_host("far"), {}, 0) == LeaseResult::taken);
  CHECK(contains(error_of([&] { repair_store(run.store); }), "process 4711 trains a trial of it"));
  SharedRun::age(run.folder / "claims" / id("b"), 61);
  CHECK(repair_store(run.store).size() == 1);
  store.put(ended("c", 1));
  CHECK(RunStore(run.store).known().size() == 2);
}

TEST_CASE("shards of processes that have ended are put together, once there are many; no others") {
  const SharedRun run;
  const fs::path shards = run.folder / "shards";
  const auto add = [&](const std::string& name, const std::string& trial) {
    RunStore(run.store).put(ended(trial, 1));
    const fs::path made = run.shard();  // others have been renamed
    fs::rename(made, shards / (name + ".old"));
    SharedRun::age(shards / (name + ".old"), 61);
  };
  for (int n = 0; n < 19; ++n) add(fmt::format("node-{}.jsonl", n), fmt::format("t{}", n));
  for (int n = 0; n < 19; ++n)
    fs::rename(shards / fmt::format("node-{}.jsonl.old", n), shards / fmt::format("node-{}.jsonl", n));
  const auto count = [&] {
    return std::count_if(fs::directory_iterator(shards), {},
                         [](const auto& one) { return one.path().extension() == ".jsonl"; });
  };
  const std::string before = trials_in(run.store);
  // Of these none is merged: it may grow, or has what is no line.
  SharedRun::age(shards / "node-0.jsonl", 50);
  SharedRun::age(shards / "node-1.jsonl", -100);
  std::ofstream(shards / "node-2.jsonl", std::ios::app) << "{half a line";
  std::ofstream(shards / "node-3.jsonl", std::ios::app) << "damaged\n";
  Owner writer = on_other_host("far");
  writer.machine = "node 0000 pid:[1]";
  writer.pid = 4;
  RunStore(run.store).acquire(id("new"), "", writer, {}, 0);
  fs::rename(shards / "node-5.jsonl", shards / (writer_name(this_process()) + "-7.jsonl"));
  // This one is: its writer, a process of this host, has ended.
  fs::rename(shards / "node-6.jsonl", shards / (writer_name(dead_process()) + ".jsonl"));
  const fs::path stray = shards / "z-1.jsonl";
  fs::create_directory(stray);
  for (const fs::path& old : {shards / "node-2.jsonl", shards / "node-3.jsonl", stray}) SharedRun::age(old, 61);
  merge_ended_shards(run.folder);  // of fifteen, too few
  CHECK(count() == 20);
  fs::remove(stray);
  fs::copy_file(shards / "node-18.jsonl", shards / "x-1.jsonl");
  SharedRun::age(shards / "x-1.jsonl", 61);
  merge_ended_shards(run.folder);
  CHECK(count() == 20 - 14 + 1);
  for (const char* name : {"node-0.jsonl", "node-1.jsonl", "node-2.jsonl", "node-3.jsonl", "node-4.jsonl"})
    CHECK(fs::exists(shards / name));
  CHECK(trials_in(run.store) == before);  // the copy's line, which stood twice, counts once
  merge_ended_shards(run.folder);
  CHECK(count() == 7);
  merge_ended_shards(run.temporary.path());  // no shared folder
}

TEST_CASE("a shard that grows is read on; one with other bytes is read from its first line") {
  for (const bool is_other_file : {false, true}) {
    const SharedRun run;
    const RunStore reader(run.store);
    const fs::path shard = run.folder / "shards" / "x-1.jsonl", other = run.folder / "other";
    const auto line = [](const std::string& name) { return shard_line_of(ended(name, 1)); };
    std::ofstream(shard) << line("a");
    CHECK(reader.known().size() == 1);
    std::ofstream(shard, std::ios::app) << line("b");
    CHECK(reader.known().size() == 2);
    CHECK_FALSE(reader.has_lost());
    std::ofstream(is_other_file ? other : shard) << line("c") << (is_other_file ? line("d") + line("e") : "");
    if (is_other_file) fs::rename(other, shard);
    CHECK(reader.known().size() == (is_other_file ? 5 : 3));
    CHECK(reader.has_lost());
  }
}

TEST_CASE("a shard has its writer's host and process for a name") {
  CHECK(writer_name({"", "node-7.rack_4:é 0000 pid:[1]", 12, ""}) == "node-7.rack_4___-12");
}

TEST_CASE("a trial whose line moves from shard to shard is never missed") {
  const SharedRun run;
  RunStore(run.store).put(ended("a", 1));
  std::atomic<bool> is_over{false};
  std::thread mover([&] {
    fs::path from = run.shard();
    for (int n = 0; !is_over; ++n) {
      const fs::path to = run.folder / "shards" / fmt::format("{}{}-1.jsonl", n % 2 ? "a" : "z", n);
      fs::copy_file(from, to.string() + ".new");
      fs::rename(to.string() + ".new", to);
      fs::remove(from);
      from = to;
    }
  });
  for (int n = 0; n < 300; ++n) CHECK(RunStore(run.store, RunStore::Access::read).known().size() == 1);
  is_over = true;
  mover.join();
}

TEST_CASE("a store that lies beside shards is taken along, and no name is used twice") {
  const SharedRun run;
  RunStore(run.store).put(ended("a", 1));
  RunStore(run.store).put(failed("b", "failed"));
  const fs::path other = run.folder.parent_path() / "other" / "store.sqlite";
  {
    RunStore plain(other);
    plain.put(ended("b", 2));
    plain.put(ended("c", 3));
    plain.add_note("from beside");
  }
  std::ofstream(run.store.string() + ".before-shards") << "mine";
  const auto put_beside = [&] { fs::copy_file(other, run.store); };
  put_beside();
  CHECK(faults_of(run.store).size() == 1);
  CHECK(contains(damage_of(run.store).at(0), "store.sqlite: lies beside shards"));
  CHECK(RunStore(run.store, RunStore::Access::read).known().size() == 2);
  {
    const RunStore next(run.store);
    CHECK(next.known().size() == 3);
    CHECK(next.known().at(id("b")).is_finished);
    CHECK(next.notes().size() == 1);
  }
  CHECK_FALSE(fs::exists(run.store));
  CHECK(read_bytes(run.store.string() + ".before-shards") == "mine");
  CHECK(fs::exists(run.store.string() + ".before-shards-2"));
  put_beside();
  repair_store(run.store);
  CHECK(fs::exists(run.store.string() + ".before-shards-3"));
  CHECK(RunStore(run.store).known().at(id("c")).attempts == 1);
  CHECK(damage_of(run.store).empty());
  std::ofstream(run.store)
      << "no store at all, but a text of more than a hundred bytes, so that SQLite looks at its beginning "
         "and says what it thinks of it";
  CHECK(contains(error_of([&] { RunStore store(run.store); }), "it is damaged: move it aside"));
  CHECK(RunStore(run.store, RunStore::Access::read).known().size() == 3);
}

TEST_CASE("copies that were left when a run became shared and was killed go with the next") {
  const TemporaryFolder folder;
  const fs::path store = folder.path() / "s" / "quick" / "store.sqlite", shards = store.parent_path() / "shards";
  { RunStore(store).put(ended("a", 1)); }
  const fs::path left = store.parent_path() / (headroom::models::temporary_prefix(shards) + "1-0.tmp");
  fs::create_directories(left / "shards");
  share_run(store.parent_path());
  CHECK_FALSE(fs::exists(left));
  CHECK(is_shared(store.parent_path()));
  CHECK(RunStore(store).known().size() == 1);
  CHECK_FALSE(fs::exists(store.string() + "-wal"));
}

TEST_CASE("after an error a store reads a shared folder from its beginning") {
  const SharedRun run;
  RunStore store(run.store), other(run.store);
  other.put(ended("a", 1));
  other.put(failed("b", "failed"));
  CHECK(store.known().size() == 2);
  const fs::path away = run.folder / "away";
  fs::rename(run.folder / "shards", away);
  std::ofstream(run.folder / "shards") << "";
  CHECK(contains(error_of([&] { store.known(); }), "shards: is a file, not a folder"));
  fs::remove(run.folder / "shards");
  CHECK(contains(error_of([&] { store.known(); }), "shards: cannot be read: No such file"));
  fs::rename(away, run.folder / "shards");
  other.put(ended("b", 1));
  CHECK(store.known().size() == 2);
  CHECK(store.known().at(id("b")).is_finished);
  CHECK(store.known().at(id("b")).attempts == 2);
}
