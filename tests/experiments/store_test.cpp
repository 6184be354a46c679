#include "experiments/studies/run/store.h"

#include <unistd.h>

#include <atomic>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "experiments/studies/run/store/reading_line.h"
#include "tests/experiments/shared_run.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"
#include "tests/support/full_disk.h"

using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

/// One whose row fills a page.
TrialRecord big(const std::string& id, double mse) {
  TrialRecord trial = finished(id, mse);
  trial.config = std::string(2000, ' ');
  return trial;
}

}  // namespace

TEST_CASE("a store gives back to the bit what was put, also to the next that opens it") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a" / "b" / "store.sqlite";
  const double odd = 0.1 + 0.2;
  {
    RunStore store(path);
    CHECK_FALSE(store.find("x").has_value());
    store.put(finished("x", odd));
    TrialRecord failed = finished("y", 1);
    failed.status = TrialStatus::failed;
    failed.message = "failed at step 3: loss is not finite";
    store.put(failed);
  }
  RunStore store(path);
  const auto x = store.find("x");
  REQUIRE(x.has_value());
  CHECK(x->status == TrialStatus::finished);
  CHECK(x->validation.at("mse") == odd);
  CHECK(x->validation.at("relative_mse") == odd / 3);
  CHECK(x->test.at("mse") == odd * 1.1);
  CHECK(x->test_parts == finished("x", odd).test_parts);
  CHECK(x->parameters == 12);
  CHECK(x->flops == 1e9);
  CHECK(x->seconds == 0.25);
  CHECK(x->steps == 7);
  CHECK(x->config == "{\"seed\":1}");
  CHECK(x->code == "0.1");
  CHECK(x->data == finished("x", odd).data);
  CHECK(x->history == finished("x", odd).history);
  CHECK(x->predictions == finished("x", odd).predictions);
  CHECK(store.find("y")->status == TrialStatus::failed);
  CHECK(store.find("y")->message == "failed at step 3: loss is not finite");
  store.put(finished("y", 2));
  CHECK(store.find("y")->status == TrialStatus::finished);
  CHECK(store.find("y")->message.empty());
}

TEST_CASE("two stores on one file see each other's trials") {
  const TemporaryFolder folder;
  RunStore a(folder.path() / "store.sqlite"), b(folder.path() / "store.sqlite");
  a.put(finished("x", 1));
  b.put(finished("y", 2));
  CHECK(a.find("y").has_value());
  CHECK(b.find("x").has_value());
}

TEST_CASE("a store that cannot be opened says which, and why") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "not a folder";
  CHECK(contains(error_of([&] { RunStore store(folder.path() / "file" / "store.sqlite"); }),
                 (folder.path() / "file").string() + ": cannot make the folder: "));
  std::ofstream(folder.path() / "store.sqlite") << std::string(4096, 'x');
  CHECK(contains(error_of([&] { RunStore store(folder.path() / "store.sqlite"); }), "file is not a database"));
}

TEST_CASE("a store whose lock a stopped process keeps says what to look for") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "store.sqlite";
  Database stopped(path, false), waiting(path, false);
  const Transaction transaction(stopped);
  waiting.run("PRAGMA busy_timeout = 10");
  CHECK(error_of([&] { const Transaction other(waiting); }) ==
        path.string() +
            ": run store: database is locked; another process is writing to it, and has not come to an end: "
            "is one stopped?");
}

TEST_CASE("a store that is not SQLite's, or cut off, is called damaged") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "store.sqlite";
  std::ofstream(path) << std::string(5000, 'x');
  CHECK(contains(error_of([&] { RunStore store(path); }),
                 "store.sqlite: run store: file is not a database; it is damaged"));
  std::filesystem::remove(path);
  {
    RunStore store(path);
    for (int i = 0; i < 20; ++i) store.put(big(std::to_string(i), 1.0));
  }
  std::filesystem::resize_file(path, 5000);
  CHECK(contains(error_of([&] { RunStore(path).find("3"); }), "it is damaged: move it aside"));
}

TEST_CASE("a disk that fills up is an error, and what was kept stays") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "store.sqlite";
  std::string error;
  int kept = 0;
  {
    RunStore store(path);
    const FullDisk disk(128 << 10);
    error = error_of([&] {
      for (; kept < 1000; ++kept) store.put(big("trial " + std::to_string(kept), kept));
    });
  }
  CAPTURE(error);
  REQUIRE(kept > 0);
  REQUIRE(kept < 1000);
  CHECK(contains(error, path.string() + ": run store: disk I/O error (File too large)"));
  CHECK_FALSE(contains(error, "\n"));
  const RunStore store(path);
  for (int i = 0; i < kept; ++i) CHECK(store.find("trial " + std::to_string(i)).has_value());
}

TEST_CASE("a store of version 1 is brought to the present one with all its trials") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "store.sqlite";
  {
    Database old(path, false);
    old.run(R"(
      CREATE TABLE trials (
        id TEXT PRIMARY KEY, config TEXT NOT NULL, status TEXT NOT NULL, message TEXT NOT NULL, validation TEXT NOT NULL,
        test TEXT NOT NULL, parameters INTEGER NOT NULL, flops REAL NOT NULL, seconds REAL NOT NULL,
        ended_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
      ) WITHOUT ROWID;
      INSERT INTO trials VALUES ('x', '{"train":{"steps":40}}', 'finished', '', '{"mse":0.30000000000000004}',
                                 '{"mse":0.25,"relative_mse":0.5}', 12, 1e9, 2.5, '2026-01-02 03:04:05');
      INSERT INTO trials VALUES ('y', '{}', 'failed', 'failed at step 3', '{}', '{}', 12, 1e9, 0.5, '2026-01-02 03:04:06');
    )");
  }
  CHECK(contains(error_of([&] { RunStore store(path, RunStore::Access::read); }),
                 "schema version 1, this program reads 4; run the study once more"));
  for (int opened = 0; opened < 2; ++opened) {
    const RunStore store(path);
    const auto x = store.find("x"), y = store.find("y");
    REQUIRE(x.has_value());
    REQUIRE(y.has_value());
    CHECK(x->validation == std::map<std::string, double>{{"mse", 0.1 + 0.2}});
    CHECK(x->test == std::map<std::string, double>{{"mse", 0.25}, {"relative_mse", 0.5}});
    CHECK(x->steps == 40);
    CHECK(x->seconds == 2.5);
    CHECK(y->status == TrialStatus::failed);
    CHECK(y->message == "failed at step 3");
    CHECK(store.known("y").attempts == 1);
  }
}

TEST_CASE("a store of a newer program is refused with both versions") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "store.sqlite";
  put(path, {finished("x", 1)});
  Database(path, false).run("PRAGMA user_version = 7");
  for (const auto access : {RunStore::Access::write, RunStore::Access::read})
    CHECK(contains(error_of([&] { RunStore store(path, access); }),
                   path.string() + ": run store: written by a newer headroom: schema version 7, this one knows 4"));
}

TEST_CASE("a trial has one owner; a silent or dead one loses it") {
  const TemporaryFolder folder;
  RunStore a(folder.path() / "store.sqlite"), b(folder.path() / "store.sqlite");
  const Owner one = this_process(), two = this_process();
  CHECK(a.acquire("x", "heads=1", one, {}, 1000) == LeaseResult::taken);
  CHECK(b.acquire("x", "heads=1", two, {}, 1001) == LeaseResult::held);
  CHECK(b.acquire("y", "heads=2", two, {}, 1001) == LeaseResult::taken);
  a.renew({{.trial = "x", .label = "", .owner = one, .step = 5, .steps = 9, .loss = 0.5}}, 1000 + lease_seconds);
  REQUIRE(b.leases().size() == 2);
  CHECK(b.leases()[0].step == 5);
  CHECK(b.leases()[0].loss == 0.5);
  CHECK(b.acquire("x", "heads=1", two, {}, 1001 + lease_seconds) == LeaseResult::held);
  // Silent for too long: the trial changes hands, and what the first owner brings after that is not kept.
  CHECK(b.acquire("x", "heads=1", two, {}, 1000 + 2 * lease_seconds) == LeaseResult::taken);
  CHECK_FALSE(a.put(finished("x", 1), &one));
  CHECK_FALSE(a.find("x").has_value());
  CHECK(b.put(finished("x", 2), &two));
  CHECK(a.find("x")->test.at("mse") == 2 * 1.1);
  CHECK(a.acquire("x", "heads=1", one, {}, 2000) == LeaseResult::done);
  b.release("y", one);
  CHECK(b.leases().size() == 1);
  b.release("y", two);
  CHECK(a.acquire("y", "heads=2", one, {}, 1001) == LeaseResult::taken);
  // A process that is gone is not waited for.
  Owner dead = this_process();
  dead.started += "0";
  CHECK(a.acquire("z", "heads=4", dead, {}, 1000) == LeaseResult::taken);
  CHECK(b.acquire("z", "heads=4", two, {}, 1001) == LeaseResult::taken);
  CHECK(is_gone(dead_process()));
  Owner unknown = one;
  unknown.started.clear();
  CHECK_FALSE(is_gone(unknown));
  Owner elsewhere = dead;
  elsewhere.machine = "another";
  CHECK_FALSE(is_gone(elsewhere));
}

TEST_CASE("a heartbeat from the future ends when it was seen unchanged for the lease's time") {
  const TemporaryFolder folder;
  RunStore a(folder.path() / "store.sqlite"), b(folder.path() / "store.sqlite");
  const Owner one = this_process(), two = this_process();
  // The clock is set back by a day after the first owner's last sign of life.
  const double ahead = 1000 + 86400;
  CHECK(a.acquire("x", "", one, {}, ahead) == LeaseResult::taken);
  CHECK(b.acquire("x", "", two, {}, 1000, 5000) == LeaseResult::held);
  CHECK(b.acquire("x", "", two, {}, 1001, 5000 + lease_seconds - 1) == LeaseResult::held);
  // One that lives writes another, and is left alone for as long again.
  a.renew({{.trial = "x", .label = "", .owner = one, .step = 1, .steps = 9, .loss = 0.5}}, ahead + 1);
  CHECK(b.acquire("x", "", two, {}, 1002, 5000 + lease_seconds) == LeaseResult::held);
  CHECK(b.acquire("x", "", two, {}, 1003, 5000 + 2 * lease_seconds - 1) == LeaseResult::held);
  CHECK(b.acquire("x", "", two, {}, 1004, 5000 + 2 * lease_seconds) == LeaseResult::taken);
  CHECK_FALSE(a.put(finished("x", 1), &one));
  // For one look, as `status` takes it: far ahead is no sign of life, and two clocks may differ a little.
  Lease lease;
  lease.owner = one;
  lease.heartbeat = wall_clock() + 86400;
  CHECK_FALSE(is_alive(lease));
  lease.heartbeat = wall_clock() + 5;
  CHECK(is_alive(lease));
}

TEST_CASE("what is published with an outcome is the owner's alone, and an outcome that is not kept publishes nothing") {
  const TemporaryFolder folder;
  RunStore a(folder.path() / "store.sqlite"), b(folder.path() / "store.sqlite");
  const Owner one = this_process(), two = this_process();
  std::string published;
  REQUIRE(a.acquire("x", "", one, {}, 1000) == LeaseResult::taken);
  CHECK(a.while_held("x", one, [&] { published += "a checkpoint, "; }));
  REQUIRE(b.acquire("x", "", two, {}, 1000 + lease_seconds) == LeaseResult::taken);
  CHECK_FALSE(a.while_held("x", one, [&] { published += "a stale checkpoint, "; }));
  CHECK_FALSE(a.put(finished("x", 1), &one, [&] { published += "stale weights, "; }));
  CHECK(a.renew({{.trial = "x", .label = "", .owner = one}}, 1001) == std::vector<std::string>{"x"});
  CHECK(b.renew({{.trial = "x", .label = "", .owner = two}}, 1001).empty());
  CHECK_THROWS(b.put(finished("x", 2), &two, [] { throw std::runtime_error("no space"); }));
  CHECK_FALSE(a.find("x").has_value());
  CHECK(b.put(finished("x", 2), &two, [&] { published += "weights"; }));
  CHECK(published == "a checkpoint, weights");
}

TEST_CASE("a store that a killed process had begun to make is read as one without trials, and then made") {
  const TemporaryFolder folder;
  const auto empty = folder.path() / "empty" / "store.sqlite", begun = folder.path() / "begun" / "store.sqlite";
  std::filesystem::create_directories(empty.parent_path());
  std::ofstream{empty};
  { Database database(begun, false); }  // a write-ahead log, and no tables
  for (const auto& path : {empty, begun}) {
    {
      const RunStore store(path, RunStore::Access::read);
      CHECK(store.known().empty());
      CHECK(store.plan().empty());
      CHECK(store.study().empty());
      CHECK(store.leases().empty());
      CHECK(store.tags().empty());
      CHECK(store.unchecked() == 0);
      store.each([](TrialRecord&&) { FAIL("a trial"); });
    }
    RunStore(path).put(finished("x", 1));
    CHECK(RunStore(path, RunStore::Access::read).find("x").has_value());
  }
}

TEST_CASE("who opens a store while another makes it sees none of it or all") {
  for (int i = 0; i < 40; ++i) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "store.sqlite";
    std::ofstream{path};
    std::string problem;
    std::atomic<bool> is_made{false};
    std::thread reader([&] {
      problem = error_of([&] {
        while (!is_made) CHECK(RunStore(path, RunStore::Access::read).plan().empty());
      });
    });
    { RunStore store(path); }
    is_made = true;
    reader.join();
    CHECK(problem.empty());
  }
}

TEST_CASE("a failed trial is tried once by each run, not once by each of two runs at the same time") {
  const TemporaryFolder folder;
  RunStore store(folder.path() / "store.sqlite");
  const Owner one = this_process(), two = this_process();
  TrialRecord failed = finished("x", 1);
  failed.status = TrialStatus::failed;
  store.put(failed);
  const RunStore::Known before = store.known("x");
  CHECK(store.acquire("x", "", one, before, 1000) == LeaseResult::taken);
  CHECK(store.put(failed, &one));
  CHECK(store.acquire("x", "", two, before, 1000) == LeaseResult::done);
  CHECK(store.acquire("x", "", two, store.known("x"), 1000) == LeaseResult::taken);
  store.put(finished("y", 1));
  CHECK(store.acquire("y", "", one, {}, 1000) == LeaseResult::done);
  CHECK(store.acquire("y", "", one, store.known("y"), 1000) == LeaseResult::taken);
}

TEST_CASE("a store keeps the plan of the latest run, and is read in a folder that may not be written") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a folder" / "store.sqlite";
  {
    RunStore store(path);
    store.put(finished("x", 1));
    store.set_plan({{"id", "old"}}, {{"w", "", "heads=1", 1, {}, 1}, {"x", "", "heads=2", 2, {}, 1}});
    store.set_plan({{"id", "small"}}, {{"x", "wide", "heads=2 seed=3", 2, {{"train.lr", 0.5}}, 3}});
  }
  std::filesystem::permissions(path.parent_path(),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  {
    const RunStore store(path, RunStore::Access::read);
    REQUIRE(store.plan().size() == 1);
    const PlanEntry entry = store.plan()[0];
    CHECK(entry.series == "wide");
    CHECK(entry.label == "heads=2 seed=3");
    CHECK(entry.choice.at("train.lr") == 0.5);
    CHECK(entry.seed == 3);
    CHECK(store.study().at("id") == "small");
    CHECK(store.find("x").has_value());
  }
  std::filesystem::permissions(path.parent_path(), std::filesystem::perms::owner_all);
}

TEST_CASE("reading many trials shows a line, and takes it away") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "terminal";
  std::FILE* terminal = std::fopen(path.c_str(), "w");
  REQUIRE(terminal != nullptr);
  {
    ReadingLine line("store.sqlite", 200, terminal, 0);
    for (int i = 0; i < 200; ++i) line.step();
  }
  {
    ReadingLine later("other.sqlite", 0, terminal, 3600);
    for (int i = 0; i < 200; ++i) later.step();
  }
  std::fclose(terminal);
  const std::string text = read_bytes(path);
  CHECK(text.starts_with("\r\033[Kreading store.sqlite: 64 of 200 trials"));
  CHECK(text.ends_with("\r\033[K"));
  CHECK(text.find("other") == std::string::npos);
}
