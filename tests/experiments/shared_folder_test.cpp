// What may lie in a run's folder that no program of ours has put there: links, pipes, folders, forged and endless
// lines.
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <functional>

#include "experiments/studies/config/trial_config.h"
#include "experiments/studies/run/examine.h"
#include "experiments/studies/run/own_trials.h"
#include "experiments/studies/run/run_state.h"
#include "experiments/studies/run/store/shared_folder.h"
#include "tests/experiments/shared_run.h"
#include "tests/support/catch.h"

using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

namespace fs = std::filesystem;

/// Kinds of things that are no file, made at a path; `outside` is a file that links lead to.
struct Stray {
  const char* name;
  std::function<void(const fs::path& at, const fs::path& outside)> make;
};
const std::vector<Stray> strays{
    {"a folder", [](const fs::path& at, const fs::path&) { fs::create_directories(at / "inner"); }},
    {"a link", [](const fs::path& at, const fs::path& outside) { fs::create_symlink(outside, at); }},
    {"a link", [](const fs::path& at, const fs::path&) { fs::create_symlink("/dev/zero", at); }},
    {"a link", [](const fs::path& at, const fs::path& outside) { fs::create_symlink(outside.string() + "-new", at); }},
    {"a named pipe", [](const fs::path& at, const fs::path&) { REQUIRE(mkfifo(at.c_str(), 0666) == 0); }},
    {"a socket",
     [](const fs::path& at, const fs::path&) {
       const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
       sockaddr_un address{AF_UNIX, {}};
       const auto here = fs::current_path();
       fs::current_path(at.parent_path());  // a socket's path is short
       at.filename().string().copy(address.sun_path, sizeof(address.sun_path) - 1);
       REQUIRE(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
       fs::current_path(here);
       close(fd);
     }},
};

/// Calls `f` with a run of two trials, in which `file` is a stray of each kind, and with that kind's name.
void with_strays(const std::string& file, const std::function<void(SharedRun& run, const std::string& kind)>& f) {
  for (const Stray& stray : strays) {
    SharedRun run;
    {
      RunStore store(run.store);
      store.put(ended("a", 1));
      store.put(ended("b", 2));
      store.set_plan({{"title", "T"}}, {{id("a"), "", "a", 1, {}, 1}, {id("c"), "", "c", 1, {}, 1}});
      store.add_note("note");
    }
    fs::create_directories(run.folder / "claims");
    const fs::path outside = run.temporary.path() / "outside";
    std::ofstream(outside) << "theirs\n";
    SharedRun::age(outside, 1000);
    const auto before = fs::last_write_time(outside);
    fs::remove_all(run.folder / file);
    stray.make(run.folder / file, outside);
    INFO(file << ": " << stray.name);
    f(run, stray.name);
    CHECK(read_bytes(outside) == "theirs\n");
    CHECK(fs::last_write_time(outside) == before);
    CHECK_FALSE(fs::exists(outside.string() + "-new"));
  }
}

}  // namespace

TEST_CASE("what is no file among shards is named and set aside, and all else goes on") {
  for (const char* name : {"shards/x-1.jsonl", "shards/plan.json", "shards/notes.json"})
    with_strays(name, [&](SharedRun& run, const std::string& kind) {
      const std::string fault = fmt::format("{}: is {}, not a file", (run.folder / name).string(), kind);
      CHECK(faults_of(run.store) == std::vector<std::string>{fault});
      CHECK(damage_of(run.store) == std::vector<std::string>{fault});
      CHECK(read_run_state(RunStore(run.store, RunStore::Access::read)).notes.size() ==
            (name == std::string("shards/notes.json") ? 0 : 1));
      {
        RunStore store(run.store);
        CHECK(store.known().size() == 2);
        store.put(ended("c", 3));
        store.set_plan({{"title", "U"}}, {{id("a"), "", "a", 1, {}, 1}});
        store.add_note("more");
      }
      CHECK(RunStore(run.store).known().size() == 3);
      CHECK(RunStore(run.store).study().at("title") == "U");
      repair_store(run.store);
      CHECK(faults_of(run.store).empty());
      CHECK(damage_of(run.store).empty());
      CHECK(fs::exists(fs::symlink_status((run.folder / name).string() + ".damaged-1")));
    });
}

TEST_CASE("what is no file among leases is no lease, and keeps nobody from a trial") {
  for (const std::string& name : {id("c"), std::string("stray"), std::string(".clock"), "." + id("c") + ".heir"})
    with_strays("claims/" + name, [&](SharedRun& run, const std::string& kind) {
      const std::string fault = fmt::format("{}: is {}, not a file", (run.folder / "claims" / name).string(), kind);
      CHECK(damage_of(run.store) == std::vector<std::string>{fault});
      RunStore store(run.store);
      CHECK(store.leases().empty());
      CHECK(read_run_state(store).running == 0);
      const Owner me = this_process();
      CHECK(store.acquire(id("c"), "c", me, {}, wall_clock()) == LeaseResult::taken);
      CHECK(store.renew({{.trial = id("c"), .label = "c", .owner = me}}, 0).empty());
      CHECK(store.put(ended("c", 1), &me));
      CHECK(store.leases().empty());
      repair_store(run.store);
      CHECK(damage_of(run.store).empty());
    });
}

TEST_CASE("the server's time is that of a file of its own, which is touched, and set aside where it is none") {
  with_strays("claims/.clock", [](SharedRun& run, const std::string&) {
    const fs::path clock = run.folder / "claims" / ".clock";
    const LeaseFiles leases(run.folder / "claims");
    const OpenFolder folder(run.folder / "claims");
    for (int looks = 0; looks < 2; ++looks) {
      const double now = leases.now();
      CHECK(now == folder.look_at(".clock")->changed_at());
      CHECK(std::abs(now - wall_clock()) < 60);
      CHECK(fs::exists(fs::symlink_status(clock.string() + ".damaged-1")));
      SharedRun::age(clock, 1000);
    }
  });
}

TEST_CASE("names in a folder: what is there, what is set aside, and what cannot be") {
  const TemporaryFolder temporary;
  const OpenFolder folder(temporary.path());
  std::ofstream(temporary.path() / "x") << "x";
  CHECK(folder.look_at("x")->bytes == 1);
  CHECK_FALSE(folder.look_at("none"));
  CHECK(contains(error_of([&] { folder.look_at(std::string(300, 'x')); }), "cannot be read: File name too long"));
  CHECK(folder.set_aside("x", SetAside::copy) == "x.damaged-1");
  CHECK(folder.set_aside("x", SetAside::copy) == "x.damaged-2");
  CHECK(folder.set_aside("x") == "x.damaged-3");
  CHECK_FALSE(folder.look_at("x"));
  CHECK(contains(error_of([&] { folder.set_aside("x", SetAside::copy); }), "cannot be linked: No such file"));
  for (const char* name : {"x", "a name of many letters", ".damaged-", "x.damaged-", "x.damaged-1a", "x.damaged-1 "})
    CHECK_FALSE(is_set_aside(name));
  CHECK(is_set_aside("x.damaged-12"));
}

TEST_CASE("an old lease whose door is no file is taken over") {
  with_strays("claims/." + id("c") + ".heir", [&](SharedRun& run, const std::string&) {
    RunStore store(run.store);
    REQUIRE(store.acquire(id("c"), "c", on_other_host("old"), {}, wall_clock()) == LeaseResult::taken);
    SharedRun::age(run.folder / "claims" / id("c"), 61);
    CHECK(store.acquire(id("c"), "c", this_process(), {}, wall_clock()) == LeaseResult::held);
    CHECK(store.acquire(id("c"), "c", this_process(), {}, wall_clock()) == LeaseResult::taken);
  });
}

TEST_CASE("a lease that may not be read is held until it is old") {
  if (geteuid() == 0) return skip("root may read everything");
  const SharedRun run;
  RunStore store(run.store);
  fs::create_directories(run.folder / "claims");
  std::ofstream(run.folder / "claims" / id("a")) << "";
  fs::permissions(run.folder / "claims" / id("a"), fs::perms::none);
  CHECK(store.acquire(id("a"), "", this_process(), {}, wall_clock()) == LeaseResult::held);
  SharedRun::age(run.folder / "claims" / id("a"), 61);
  CHECK(store.acquire(id("a"), "", this_process(), {}, wall_clock()) == LeaseResult::taken);
}

TEST_CASE("folders of a run that are links are refused, and nothing is made where they lead") {
  for (const char* name : {"shards", "claims"}) {
    SharedRun run;
    { RunStore(run.store).put(ended("a", 1)); }
    const fs::path away = run.temporary.path() / "away";
    fs::create_directories(away);
    fs::remove_all(run.folder / name);
    fs::create_directory_symlink(away, run.folder / name);
    const std::string wanted = (run.folder / name).string() + ": is a link, not a folder; move it aside";
    CHECK(is_shared(run.folder));
    CHECK(error_of([&] {
            RunStore store(run.store);
            store.acquire(id("b"), "", this_process(), {}, 0);
          }) == wanted);
    CHECK(damage_of(run.store) == std::vector<std::string>{wanted});
    CHECK(fs::is_empty(away));
  }
  for (const char* name : {"checkpoints", "weights", "stages"}) {
    SharedRun run;
    const fs::path away = run.temporary.path() / "away";
    fs::create_directories(away);
    fs::create_directory_symlink(away, run.folder / name);
    RunStore store(run.store);
    const Owner me = this_process();
    OwnedFiles files(run.folder, store, me);
    REQUIRE(store.acquire(id("b"), "", me, {}, 0) == LeaseResult::taken);
    TrialRecord trial = ended("b", 1);
    const std::string error = error_of([&] {
      files.prepare(id("b"));
      files.stages();
      files.keep_outcome(trial, {{"w", headroom::engine::Tensor::full({1}, 1)}});
    });
    CHECK(error == (run.folder / name).string() + ": is a link, not a folder; move it aside");
    CHECK(fs::is_empty(away));
  }
}

TEST_CASE("checkpoints and weights that are no files are replaced; nothing is read through them") {
  for (const Stray& stray : strays) {
    SharedRun run;
    const fs::path outside = run.temporary.path() / "outside";
    std::ofstream(outside) << "theirs";
    RunStore store(run.store);
    const Owner me = this_process();
    OwnedFiles files(run.folder, store, me);
    const headroom::models::NamedTensors weights{{"w", headroom::engine::Tensor::full({1}, 1)}};
    fs::create_directories(run.folder / "weights");
    stray.make(run.folder / "weights" / (id("b") + ".safetensors"), outside);
    REQUIRE(store.acquire(id("b"), "", me, {}, 0) == LeaseResult::taken);
    files.prepare(id("b"));
    stray.make(files.checkpoint(id("b")), outside);
    files.prepare(id("b"));
    CHECK((stray.name == std::string("a folder")) == fs::exists(fs::symlink_status(files.checkpoint(id("b")))));
    CHECK(files.look_at_weights(id("b"), "") != KeptWeights::sound);
    CHECK(files.keep_checkpoint(id("b"), [](const fs::path& at) { std::ofstream(at) << "state"; }));
    CHECK(read_bytes(files.checkpoint(id("b"))) == "state");
    TrialRecord trial = ended("b", 1);
    CHECK(files.keep_outcome(trial, weights));
    CHECK(files.look_at_weights(id("b"), trial.weights) == KeptWeights::sound);
    CHECK(read_bytes(outside) == "theirs");
  }
}

TEST_CASE("a store that is no file, or whose log is none, is refused at once") {
  for (const char* ending : {"", "-wal", "-shm", "-journal"})
    for (const Stray& stray : strays) {
      const TemporaryFolder folder;
      const fs::path store = folder.path() / "run" / "store.sqlite", outside = folder.path() / "outside";
      { RunStore(store).put(ended("a", 1)); }
      fs::remove(store.string() + ending);
      std::ofstream(outside) << "theirs";
      stray.make(store.string() + ending, outside);
      for (const auto access : {RunStore::Access::read, RunStore::Access::write})
        CHECK(error_of([&] { RunStore opened(store, access); }) ==
              fmt::format("{}{}: run store: is {}, not a file; move it aside", store.string(), ending, stray.name));
      CHECK(read_bytes(outside) == "theirs");
      CHECK_FALSE(fs::exists(outside.string() + "-new"));
    }
}

TEST_CASE("lines that are sealed and not read are faults of their own, which a repair sets aside") {
  const auto changed = [](const std::string& from, const std::string& to) {
    return [=](const std::string& line) { return resealed(replaced(line, from, to)); };
  };
  const std::vector<std::pair<std::function<std::string(const std::string&)>, std::string>> forged{
      {changed("\"attempts\":1", "\"attempts\":-1"), "'attempts' is -1"},
      {changed("\"ended\":", "\"ended\":9999999"), "'ended' is 9999999"},
      {changed("\"ended\":", "\"ended\":-9999999"), "'ended' is -9999999"},
      {changed("\"ended\":", "\"ended\":\"\",\"was\":"), "'ended' is ''"},
      {changed("\"level\":", "\"levels\":"), "'level' is missing"},
      {changed("\"weights\":\"", "\"weights\":7,\"was\":\""), "'weights' is 7"},
      {changed("\"status\":\"finished\"", "\"status\":\"new\""), "'status' is 'new'"},
      {changed(id("a"), id("b")), "is not that of its config, whose id is " + id("a")},
      {changed(id("a"), "../../x"), "trial '../../x' is not that of its config"},
      {[](const std::string&) { return resealed("{\"a\":[[[[]]]]}"); }, "'id' is missing"},
      {[](const std::string&) { return resealed("{\"a\":" + std::string(100000, '[') + "}"); }, ""},
      {[](const std::string&) { return "no JSON\n"; }, "is not what was written (wrong checksum)"},
      {[](const std::string&) { return std::string("\0\n", 2); }, "is not what was written (wrong checksum)"},
      {[](const std::string&) { return "\n"; }, "is not what was written (wrong checksum)"},
      {[](const std::string& line) { return line.substr(0, line.size() - 1) + "\v"; }, "its line feed is not what"},
      {[](const std::string& line) { return line.substr(0, line.size() - 2) + "]\n"; }, "(wrong checksum)"},
      {changed(R"({"f32":[0.5,-0.5]})", R"({"f32":[0.5,-0.5],"x":1})"), "expected a list of numbers"},
      {changed("[3,6],", "[3,6],[1,2],"), "expected lists of split, metric, steps and values"},
      {changed("\"none\":", "\"\":"), "has a name of 0 bytes"},
      {changed("\"loss\"", '"' + std::string(1001, 'x') + '"'), "has a name of 1001 bytes"},
  };
  for (const auto& [forge, wanted] : forged) {
    const SharedRun run;
    put(run.store, {ended("a", 1), ended("b", 1)});
    const fs::path own = run.shard();
    const std::string text = read_bytes(own), a = text.substr(0, text.find('\n') + 1);
    std::ofstream(run.folder / "shards" / "other-1.jsonl") << text.substr(a.size()) << forge(a);
    std::ofstream(own) << text.substr(a.size());
    INFO(wanted);
    const std::vector<std::string> faults = faults_of(run.store);
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].starts_with((run.folder / "shards" / "other-1.jsonl").string() + ":2: "));
    CHECK(contains(faults[0], wanted));
    CHECK(RunStore(run.store).known().size() == 1);
    CHECK(damage_of(run.store) == faults);
    CHECK(repair_store(run.store).size() == 1);
    CHECK(damage_of(run.store).empty());
    CHECK(RunStore(run.store).known().at(id("b")).attempts == 1);  // the line that stands twice
  }
}

TEST_CASE("plan and notes that are not read are named with their file, and the next run writes them again") {
  for (const char* name : {"plan.json", "notes.json"})
    for (const auto& [from, to, wanted] :
         {std::tuple{"\"format\":1", "\"format\":2", "the file is from a newer headroom"},
          std::tuple{"\"headroom\":\"trials\"", "\"headroom\":\"x\"", "'headroom' is"}, std::tuple{"{", "", ""}}) {
      SharedRun run;
      {
        RunStore store(run.store);
        store.put(ended("a", 1));
        store.set_plan({{"title", "T"}}, {});
        store.add_tag("tag");
      }
      const fs::path file = run.folder / "shards" / name;
      const std::string text = read_bytes(file);
      std::ofstream(file) << (*to ? resealed(replaced(text, from, to)) : text.substr(1));
      const std::vector<std::string> faults = faults_of(run.store);
      REQUIRE(faults.size() == 1);
      CHECK(faults[0].starts_with(file.string() + ": "));
      CHECK(contains(faults[0], wanted));
      RunStore store(run.store);
      CHECK(store.known().size() == 1);
      store.set_plan({{"title", "U"}}, {});
      store.add_tag("other");
      CHECK(faults_of(run.store).empty());
      CHECK(fs::exists(file.string() + ".damaged-1"));
      std::ofstream(file) << text.substr(1);
      CHECK(repair_store(run.store).size() == 1);
      CHECK(fs::exists(file.string() + ".damaged-2"));
      CHECK(faults_of(run.store).empty());
    }
}

TEST_CASE("a line without end is read no further than its bound, and what stands before it counts") {
  const SharedRun run;
  put(run.store, {ended("a", 1)});
  const fs::path sparse = run.folder / "shards" / "sparse-1.jsonl";
  fs::rename(run.shard(), sparse);
  fs::resize_file(sparse, uint64_t{1} << 40);
  CHECK(faults_of(run.store) ==
        std::vector<std::string>{sparse.string() + ":2: has no line feed within 67108864 bytes"});
  CHECK(RunStore(run.store).known().size() == 1);
  CHECK(repair_store(run.store).size() == 1);
  CHECK(fs::file_size(sparse) < 10000);
  CHECK(RunStore(run.store).known().size() == 1);
  const fs::path plan = run.folder / "shards" / "plan.json";
  std::ofstream(plan) << "{";
  fs::resize_file(plan, uint64_t{1} << 40);
  CHECK(contains(faults_of(run.store).at(0), "plan.json: has 1099511627776 bytes: expected at most"));
}

TEST_CASE("lines as long as the bound and around the size of a piece are read whole") {
  const TemporaryFolder temporary;
  const OpenFolder folder(temporary.path());
  for (const size_t size : {size_t{0}, size_t{1}, size_t{65535}, size_t{65536}, size_t{65537}, size_t{131072},
                            longest_shard_line - 1, longest_shard_line}) {
    {
      std::ofstream file(temporary.path() / "x");
      file << "first\n" << std::string(size, 'a') << "\nlast\nrest";
    }
    const OpenFile file(folder, "x", O_RDONLY);
    LineScanner lines(file, 0, file.look().bytes);
    REQUIRE(lines.next() == "first");
    CHECK(lines.place() == 6);
    const auto line = lines.next();
    CHECK(line.has_value() == (size < longest_shard_line));
    CHECK(lines.is_too_long() == (size == longest_shard_line));
    if (!line) continue;
    CHECK(line->size() == size);
    CHECK(line->find_first_not_of('a') == std::string::npos);
    CHECK(lines.next() == "last");
    CHECK_FALSE(lines.next());
    CHECK(lines.rest() == "rest");
    CHECK(lines.place() == 6 + size + 1 + 5);
  }
  const OpenFile file(folder, "x", O_RDONLY);
  fs::resize_file(temporary.path() / "x", 8);  // it becomes shorter while it is read
  LineScanner lines(file, 0, 1 << 20);
  CHECK(lines.next() == "first");
  CHECK_FALSE(lines.next());
  CHECK(lines.rest() == "aa");
}

TEST_CASE("a clock before 1970 is a time like others") {
  const SharedRun run;
  put(run.store, {ended("a", 1)});
  const std::string text = read_bytes(run.shard());
  const size_t at = text.find("\"ended\":") + 8;
  std::ofstream(run.shard()) << resealed(std::string(text).replace(at, text.find(',', at) - at, "-315619200"));
  CHECK(faults_of(run.store).empty());
  CHECK(RunStore(run.store).find(id("a"))->ended == -315619200);
}
