// Notes, tags and live curves in the store; finding, measuring and deleting runs.
#include "experiments/studies/run/examine.h"
#include "experiments/studies/run/run_state.h"
#include "experiments/studies/run/stored_runs.h"
#include "tests/experiments/program/serve/stored_study.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;
namespace fs = std::filesystem;

TEST_CASE("notes and tags stay through another run's plan, a reopening and a repair") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "store.sqlite";
  {
    RunStore store(path);
    planned(store, "one", {1, 2}, {1});
    store.put(stored_trial(1, 1, 0.5));
    store.put(stored_trial(2, 1, 0.5));
    store.add_note("first\nsecond line");
    store.add_note("another");
    store.add_tag("zebra");
    store.add_tag("apple");
    store.add_tag("apple");
    CHECK(store.remove_note(store.notes()[1].id));
    CHECK_FALSE(store.remove_note(99));
    CHECK_FALSE(store.remove_tag("pear"));
    planned(store, "two", {1, 2}, {1});
  }
  const std::vector<Note> notes = RunStore(path, RunStore::Access::read).notes();
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].text == "first\nsecond line");
  CHECK(notes[0].at.size() == 19);
  CHECK(RunStore(path, RunStore::Access::read).tags() == std::vector<std::string>{"apple", "zebra"});
  Database(path, false).run("UPDATE trials SET config = '{}' WHERE id = 'id2-1-40'");
  CHECK(repair_store(path).size() == 1);
  CHECK(RunStore(path, RunStore::Access::read).notes() == notes);
  CHECK(RunStore(path, RunStore::Access::read).tags().size() == 2);
}

TEST_CASE("what is no note and no tag is refused") {
  const TemporaryFolder folder;
  RunStore store(folder.path() / "store.sqlite");
  CHECK(contains(error_of([&] { store.add_note(" \n\t"); }), "the note is empty"));
  CHECK(contains(error_of([&] { store.add_note(std::string(4001, 'x')); }), "4001 bytes; at most 4000"));
  CHECK(contains(error_of([&] { store.add_note("\xff"); }), "no UTF-8 text"));
  CHECK(contains(error_of([&] { store.add_note(std::string("a\0b", 3)); }), "no UTF-8 text"));
  for (const char* tag : {"a b", "a,b", "a\n", "a\x7f", "\xc3"})
    CHECK(contains(error_of([&] { store.add_tag(tag); }), "a tag is one word without commas"));
  CHECK(contains(error_of([&] { store.add_tag(""); }), "the tag is empty"));
  CHECK(contains(error_of([&] { store.add_tag(std::string(61, 'x')); }), "at most 60"));
  CHECK(store.notes().empty());
  CHECK(store.tags().empty());
  check_note_time("2026-01-02 03:04:59");
  for (const char* at : {"", "2026-01-02 03:04:0", "2026-01-02 03:04:051", "2026-01-02T03:04:05", "2026-01-02 03:04:0a",
                         "2026-01-02 03:04:0/"})
    CHECK(contains(error_of([&] { check_note_time(at); }), "is no time of a note"));
}

TEST_CASE("a note whose bits have changed is an error, and a repair keeps the others") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "store.sqlite";
  {
    RunStore store(path);
    store.add_note("one");
    store.add_note("two");
  }
  Database(path, false).run("UPDATE notes SET text = 'onf' WHERE text = 'one'");
  CHECK(contains(error_of([&] { RunStore(path, RunStore::Access::read).notes(); }), "a note is not what was written"));
  CHECK(examine_store(path).damage.size() == 1);
  repair_store(path);
  REQUIRE(RunStore(path, RunStore::Access::read).notes().size() == 1);
  CHECK(RunStore(path, RunStore::Access::read).notes()[0].text == "two");
}

TEST_CASE("a store of an earlier program has no notes until it is written to") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "store.sqlite";
  {
    RunStore store(path);
    planned(store, "old", {1}, {1});
  }
  Database(path, false).run("DROP TABLE notes; DROP TABLE tags; DROP TABLE live");
  CHECK(RunStore(path, RunStore::Access::read).notes().empty());
  CHECK(RunStore(path, RunStore::Access::read).live_points().empty());
  RunStore(path).add_note("new");
  CHECK(RunStore(path, RunStore::Access::read).notes().size() == 1);
}

TEST_CASE("a live curve grows with its trial, stays short, and goes when the trial has ended") {
  const TemporaryFolder folder;
  RunStore store(folder.path() / "store.sqlite");
  const Owner owner = this_process(), other = this_process();
  store.acquire("x", "heads=1", owner, {}, 1000);
  for (int step = 0; step <= 8000; ++step)
    store.renew({{"x", "", owner, 0, step, 8000, step == 0 ? std::nan("") : 1.0 / step}}, 1000 + step);
  const auto points = store.live_points();
  REQUIRE(points.size() > 300);
  CHECK(points.size() <= 401);
  CHECK(points[0].step == 1);
  CHECK(points[1].step == 21);
  CHECK(points[0].loss == 1.0);
  store.renew({{"x", "", other, 0, 9000, 8000, 1.0}}, 9999);
  CHECK(store.live_points().size() == points.size());
  store.release("x", owner);  // stopped: the next run continues from here
  CHECK(store.live_points().size() == points.size());
  TrialRecord record = stored_trial(1, 1, 0.5);
  record.id = "x";
  store.put(record);
  CHECK(store.live_points().empty());
}

TEST_CASE("what is watched keeps its line; a trial that begins takes that of one that has ended") {
  std::vector<std::string> lines;
  const auto shown = [&](const std::vector<std::string>& trials) {
    std::vector<Lease> leases;
    for (const std::string& trial : trials) leases.emplace_back().trial = trial;
    keep_lines(leases, lines);
    std::string text;
    for (const Lease& lease : leases) text += lease.trial;
    return text;
  };
  CHECK(shown({"b", "c", "d"}) == "bcd");
  CHECK(shown({"a", "c", "d"}) == "acd");
  CHECK(shown({"c", "d", "e", "f"}) == "ecdf");
  CHECK(shown({"d", "f"}) == "df");
  CHECK(shown({}).empty());
  CHECK(shown({"a"}) == "a");
}

TEST_CASE("a run's state counts each planned trial once, and says how long the others take") {
  const TemporaryFolder folder;
  RunStore store(folder.path() / "store.sqlite");
  planned(store, "title", {1, 2, 4}, {1, 2});
  RunState state = read_run_state(store);
  CHECK(state.planned() == 6);
  CHECK(state.to_do() == 6);
  CHECK_FALSE(state.seconds_left.has_value());
  store.put(stored_trial(1, 1, 0.5));
  TrialRecord failed = stored_trial(2, 1, 0.5);
  failed.status = TrialStatus::failed;
  failed.message = "diverged";
  store.put(failed);
  const Owner owner = this_process();
  store.acquire("id1-2-40", "heads=1 seed=2", owner, {}, wall_clock());
  store.renew({{"id1-2-40", "", owner, 0, 20, 40, 0.5}}, wall_clock());
  state = read_run_state(store);
  CHECK(state.finished == 1);
  CHECK(state.failed == 1);
  CHECK(state.running == 1);
  CHECK(state.to_do() == 3);
  CHECK(state.trials[2].message == "diverged");
  // The half that is left of one trial of ten seconds, and three of as long, one after the other.
  REQUIRE(state.seconds_left.has_value());
  CHECK(*state.seconds_left == Approx(35));
  CHECK(state.most_rounds == 0);
  CHECK(*state.most_seconds_left == Approx(35));
  auto facts = store.study();
  facts["most_rounds"] = "5", facts["most_trials"] = "10";
  store.set_plan(facts, store.plan());
  // Four more trials, at the mean of six: 20 seconds were taken and 35 are left.
  CHECK(read_run_state(store).most_rounds == 5);
  CHECK(*read_run_state(store).most_seconds_left == Approx(35 + 4 * 55 / 6.0));
  // Two points of its live curve say more than other trials do: a second for each of twenty steps.
  store.renew({{"id1-2-40", "", owner, 0, 30, 40, 0.4}}, wall_clock() + 10);
  CHECK(*read_run_state(store).seconds_left == Approx(40).margin(0.5));
  Owner gone = owner;
  gone.started += "0";
  store.release("id1-2-40", owner);
  store.acquire("id1-2-40", "heads=1 seed=2", gone, {}, wall_clock());
  state = read_run_state(store);
  CHECK(state.running == 0);
  CHECK(state.trials[1].is_orphaned);
  CHECK_FALSE(state.seconds_left.has_value());
}

TEST_CASE("runs are found by study, by profile and by path") {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "runs";
  CHECK(stored_runs(out).empty());
  CHECK(contains(error_of([&] { find_run("a", out); }), "there is no run store"));
  for (const char* name : {"a/quick", "b/paper", "b/quick"}) RunStore store(out / name / "store.sqlite");
  fs::create_directories(out / "c" / "quick");
  REQUIRE(stored_runs(out).size() == 3);
  CHECK(find_run("a", out).name() == "a/quick");
  CHECK(find_run("b/paper", out).folder == out / "b" / "paper");
  CHECK(find_run((out / "b" / "quick").string(), "elsewhere").name() == "b/quick");
  CHECK(find_run((out / "b" / "quick" / "store.sqlite").string(), "elsewhere").name() == "b/quick");
  CHECK(error_of([&] { find_run("b", out); }) == "'b' has several runs: b/paper, b/quick; name one of them");
  CHECK(contains(error_of([&] { find_run("c", out); }), "has no such run; there are a/quick, b/paper, b/quick"));
  CHECK(contains(error_of([&] { find_run("", out); }), "a run's name is empty"));
  CHECK(find_run((out / "a").string(), "elsewhere").name() == "a/quick");
  for (int i = 0; i < 18; ++i) RunStore store(out / "d" / std::to_string(i) / "store.sqlite");
  CHECK(error_of([&] { find_run("c", out); }).ends_with("d/7, d/8, …"));
  CHECK(contains(error_of([&] { remove_run({"c", "quick", out / "c" / "quick"}); }), "there is no run store"));
}

TEST_CASE("a run is deleted whole, but never one that a process trains or reads") {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "runs";
  write_bytes(folder.path() / "precious", "x");
  {
    RunStore store(out / "a" / "quick" / "store.sqlite");
    const StoredRun run = find_run("a", out);
    const Owner owner = this_process();
    store.acquire("x", "", owner, {}, wall_clock());
    CHECK(contains(error_of([&] { remove_run(run); }), "is training it; stop that one first"));
    store.release("x", owner);
    CHECK(contains(error_of([&] { remove_run(run); }), "a process uses its store; stop that one first"));
    store.add_note("still there");
    CHECK(store.notes().size() == 1);
  }
  RunStore(out / "a" / "paper" / "store.sqlite").add_note("x");
  fs::create_directory_symlink(folder.path(), out / "a" / "quick" / "link");
  CHECK(size_of(find_run("a/quick", out)).files == 1);
  remove_run(find_run("a/quick", out));
  CHECK(fs::exists(folder.path() / "precious"));
  CHECK_FALSE(fs::exists(out / "a" / "quick"));
  remove_run(find_run("a", out));
  CHECK_FALSE(fs::exists(out / "a"));
  CHECK(fs::exists(out));
}
