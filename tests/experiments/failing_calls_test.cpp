// What a store does with a run's folder while calls fail, or another process is faster: the result, or an Error that
// says where, and nothing is lost.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <map>

#include "experiments/studies/run/store/shared_folder.h"
#include "tests/experiments/shared_run.h"
#include "tests/reliability/failing_calls.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

namespace fs = std::filesystem;

constexpr long all = std::numeric_limits<int>::max();

Owner worker() { return on_other_host("worker"); }

/// Makes a shard of its own, last written long ago.
void write_shard(const SharedRun& run, const std::string& name, const std::string& lines) {
  const fs::path shard = run.folder / "shards" / name;
  std::ofstream(shard) << lines;
  SharedRun::age(shard, 1000);
}

void take(const SharedRun& run, const std::string& name, const Owner& owner) {
  REQUIRE(RunStore(run.store).acquire(id(name), name, owner, {}, wall_clock()) == LeaseResult::taken);
}

/// The store of another run, which one host has.
fs::path plain(const SharedRun& run) { return run.folder.parent_path() / "plain" / "store.sqlite"; }

/// All trials that ended in both, and those of them that finished.
std::map<std::string, bool> kept(const SharedRun& run) {
  std::map<std::string, bool> trials;
  for (const fs::path& store : {run.store, plain(run)})
    if (RunStore::exists(store))
      for (const auto& [trial, known] : RunStore(store, RunStore::Access::read).known())
        trials[trial] = known.is_finished;
  return trials;
}

/// What a process does with a shared folder, and what lies there before.
struct Work {
  const char* name;
  std::function<void(const SharedRun&)> prepare, act;
};

const std::vector<Work> works{
    {"reads",
     [](const SharedRun& run) {
       RunStore(run.store).set_plan({{"title", "T"}}, {{id("a"), "", "a", 1, {}, 1}});
       take(run, "b", worker());
     },
     [](const SharedRun& run) {
       const RunStore store(run.store, RunStore::Access::read);
       store.known();
       store.plan();
       store.leases();
       store.faults();
     }},
    {"takes a lease", [](const SharedRun&) {},
     [](const SharedRun& run) { RunStore(run.store).acquire(id("b"), "b", this_process(), {}, 0); }},
    {"takes an old lease",
     [](const SharedRun& run) {
       take(run, "b", worker());
       SharedRun::age(run.folder / "claims" / id("b"), 100);
     },
     [](const SharedRun& run) { RunStore(run.store).acquire(id("b"), "b", this_process(), {}, 0); }},
    {"renews a lease, and gives it back", [](const SharedRun& run) { take(run, "b", worker()); },
     [](const SharedRun& run) {
       RunStore store(run.store);
       store.renew({{.trial = id("b"), .label = "b", .owner = worker(), .step = 3, .steps = 9, .loss = 0.5}}, 0);
       store.release(id("b"), worker());
     }},
    {"keeps a trial, a plan and a note", [](const SharedRun& run) { RunStore(run.store).add_tag("tag"); },
     [](const SharedRun& run) {
       RunStore store(run.store);
       store.put(ended("c", 1));
       store.set_plan({{"title", "U"}}, {});
       store.add_note("note");
     }},
    {"writes beside what is no file of ours",
     [](const SharedRun& run) {
       for (const char* name : {"shards/plan.json", "shards/x-1.jsonl", "claims/.clock"})
         fs::create_directories(run.folder / name / "inner");
       fs::create_directories(run.folder / "claims" / id("b"));
       std::ofstream(run.folder / "shards/notes.json") << "{}";
     },
     [](const SharedRun& run) {
       RunStore store(run.store);
       store.acquire(id("b"), "b", this_process(), {}, 0);
       store.set_plan({{"title", "U"}}, {});
       store.add_note("note");
     }},
    {"repairs shards",
     [](const SharedRun& run) {
       write_shard(run, "x-1.jsonl", shard_line_of(ended("x", 1)) + "damaged\n");
       write_shard(run, "y-1.jsonl", "damaged\n");
     },
     [](const SharedRun& run) { repair_store(run.store); }},
    {"merges shards",
     [](const SharedRun& run) {
       for (int n = 0; n < 16; ++n)
         write_shard(run, fmt::format("node-{}.jsonl", n), shard_line_of(ended(fmt::format("t{}", n), 1)));
     },
     [](const SharedRun& run) { merge_ended_shards(run.folder); }},
    {"takes a store along",
     [](const SharedRun& run) {
       RunStore(plain(run)).put(ended("b", 2));
       fs::copy_file(plain(run), run.store);
     },
     [](const SharedRun& run) { RunStore store(run.store); }},
    {"shares a store",
     [](const SharedRun& run) {
       RunStore store(plain(run));
       store.put(ended("b", 2));
       store.set_plan({{"title", "T"}}, {});
     },
     [](const SharedRun& run) { share_run(plain(run).parent_path()); }},
    {"trains in a store of one host", [](const SharedRun& run) { RunStore(plain(run)).put(failed("b", "failed")); },
     [](const SharedRun& run) {
       RunStore store(plain(run));
       store.acquire(id("b"), "b", worker(), store.known(id("b")), 0);
       const Owner owner = worker();
       store.put(ended("b", 2), &owner);
       store.add_note("note");
     }},
};

/// What befalls a call: an error, or an action of another process just before it.
struct Event {
  const char* kind;
  int error;
  long count = 1;
  std::function<void(const SharedRun&)> action{};
};

const std::vector<Event> failures{
    {"open", EMFILE}, {"open", ENOENT}, {"open", EACCES},   {"read", EIO}, {"write", EIO},
    {"sync", EIO},    {"rename", EIO},  {"rename", EINVAL}, {"stat", EIO}, {"look", ENOENT},
    {"look", EIO, 2}, {"touch", EPERM}, {"list", EIO},
};

void move_shard(const SharedRun& run) {
  for (const auto& entry : fs::directory_iterator(run.folder / "shards"))
    if (entry.path().extension() == ".jsonl" && entry.is_regular_file())
      return fs::rename(entry.path(), run.folder / "shards" / "moved-1.jsonl");
}

void end_claim(const SharedRun& run) { fs::remove_all(run.folder / "claims" / id("b")); }

void renew_claim(const SharedRun& run) {
  if (fs::exists(run.folder / "claims" / id("b"))) SharedRun::age(run.folder / "claims" / id("b"), 0);
}

const std::vector<Event> others{
    {"open", 0, 1, move_shard}, {"look", 0, 1, move_shard}, {"open", 0, 1, end_claim}, {"open", 0, 1, renew_claim}};

/// Each work with each event at every call of its kind. The work is then done once more, and the trials that are kept
/// are those of a folder where nothing befell it.
void check(const std::vector<Event>& events, const std::vector<Work>& done = works) {
  for (const Work& work : done) {
    const SharedRun undisturbed;
    RunStore(undisturbed.store).put(ended("a", 1));
    work.prepare(undisturbed);
    work.act(undisturbed);
    for (const auto& [kind, error, count, action] : events) {
      bool is_reached = true;
      for (long n = 1; is_reached; ++n) {
        INFO(fmt::format("{}: {} {}: {}", work.name, kind, n, std::strerror(error)));
        const SharedRun run;
        RunStore(run.store).put(ended("a", 1));
        work.prepare(run);
        std::string said;
        {
          const FailingCalls calls(kind, n, error, count, [&] {
            if (action) action(run);
          });
          said = error_of([&] { work.act(run); });
          is_reached = calls.are_reached();
        }
        if (!said.empty()) CHECK(contains(said, run.temporary.path().string()));
        work.act(run);
        CHECK(kept(run) == kept(undisturbed));
      }
    }
  }
}

}  // namespace

TEST_CASE("whatever call fails, what was kept stays, and the next try does what is left") { check(failures); }

TEST_CASE("a repair that cannot write leaves both of two results that differ") {
  const Work work{"repairs results that differ",
                  [](const SharedRun& run) {
                    write_shard(run, "x-1.jsonl", shard_line_of(ended("x", 1)) + shard_line_of(ended("d", 1)));
                    write_shard(run, "y-1.jsonl", shard_line_of(ended("y", 1)) + shard_line_of(ended("d", 2)));
                  },
                  [](const SharedRun& run) { repair_store(run.store); }};
  // A rename that fails in between is left out: nothing but a journal would tell.
  std::vector<Event> events;
  for (const Event& event : failures)
    if (std::string_view(event.kind) != "rename") events.push_back(event);
  check(events, {work});
}

TEST_CASE("whatever others do between two calls, what was kept stays") { check(others); }

TEST_CASE("of two processes that share one run the slower one finds it shared") {
  const SharedRun run;
  RunStore(plain(run)).put(ended("b", 2));
  const FailingCalls calls("open", 1, 0, 1, [&] { share_run(plain(run).parent_path()); });
  share_run(plain(run).parent_path());
  CHECK(calls.are_reached());
  CHECK(kept(run).at(id("b")));
}

TEST_CASE("a shard that others keep moving aside is given up") {
  const SharedRun run;
  RunStore store(run.store);
  const FailingCalls calls("look", 1, ENOENT, all);
  CHECK(contains(error_of([&] { store.put(ended("a", 1)); }), "another process keeps moving"));
}
