// Bits that flip in what is kept: every reading gives what was written, or an error.
#include <fmt/format.h>

#include <fstream>
#include <random>

#include "experiments/studies/run/examine.h"
#include "experiments/studies/run/store.h"
#include "tasks/training/checkpoint.h"
#include "tests/experiments/program.h"
#include "tests/experiments/shared_run.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

namespace fs = std::filesystem;

TrialRecord trial(const std::string& id, double mse) {
  TrialRecord trial = finished(id, mse);
  trial.test["nothing"] = NAN;
  trial.test["zero"] = -0.0;
  trial.test_parts.clear();
  for (int step = 7; step < 47; ++step) trial.history.push_back({step, "train", "loss", mse / step});
  return trial;
}

/// All that is read of a store.
std::string contents(const fs::path& path) {
  const RunStore store(path, RunStore::Access::read);
  std::string text;
  store.each([&](TrialRecord&& t) { text += text_of(t); });
  std::map<std::string, RunStore::Known> known;
  for (const auto& [id, one] : store.known()) known[id] = one;
  for (const auto& [id, one] : known) text += fmt::format("{} {} {}\n", id, one.attempts, one.is_finished);
  for (const PlanEntry& p : store.plan()) text += fmt::format("{} {} {} {} {}\n", p.id, p.series, p.label, p.x, p.seed);
  for (const auto& [key, value] : store.study()) text += key + value;
  return text;
}

void write(const fs::path& path, const std::string& bytes) {
  for (const char* end : {"-wal", "-shm"}) fs::remove(path.string() + end);
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string flipped(std::string bytes, size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  return bytes;
}

/// A store of five trials, one of them failed, that is not open. Its bytes.
std::string make_store(const fs::path& path, bool has_parts = true) {
  {
    RunStore store(path);
    std::vector<PlanEntry> plan;
    for (int i = 0; i < 5; ++i) {
      TrialRecord one = trial(fmt::format("{:032x}", i * 7919), 0.5 / (i + 1));
      if (has_parts) one.test_parts = {{"mse", {0.4, 0.6, 0.5 / (i + 1)}}, {"zero", {-0.0, 1}}};
      if (i == 3) {
        one.status = TrialStatus::failed;
        one.message = "failed at step 3";
      }
      store.put(one);
      plan.push_back({one.id, "wide", fmt::format("heads={}", i), double(i), {{"train.lr", 0.5}}, i});
    }
    store.set_plan({{"id", "small"}, {"config", "[study]"}}, plan);
  }
  return read(path);
}

/// Brings a store back to schema version 2.
void without_checksums(const fs::path& path) {
  Database(path, false)
      .run(
          "ALTER TABLE trials DROP COLUMN weights; ALTER TABLE trials DROP COLUMN details; ALTER TABLE trials DROP "
          "COLUMN "
          "digest; DROP TABLE seals; DROP TABLE test_parts; PRAGMA user_version = 2");
}

/// Brings a store back to schema version 3.
void without_parts(const fs::path& path) {
  Database(path, false).run("DROP TABLE test_parts; PRAGMA user_version = 3");
}

}  // namespace

TEST_CASE("a bit that flips in a store is an error, or changes nothing that is read") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "store.sqlite";
  const std::string bytes = make_store(path), wanted = contents(path);
  REQUIRE(bytes.size() > 8 * 4096);
  std::mt19937 random(4);
  std::vector<size_t> used;  // a page that is not full ends in zeros, which are not read
  for (size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != 0) used.push_back(i);
  int errors = 0, of_trials = 0;
  for (int round = 0; round < 4000; ++round) {
    const size_t byte = round % 4 == 0 ? random() % bytes.size() : used[random() % used.size()];
    const size_t bit = 8 * byte + random() % 8;
    write(path, flipped(bytes, bit));
    CAPTURE(bit);
    std::string got;
    const std::string error = error_of([&] { got = contents(path); });
    if (error.empty()) {
      CHECK(got == wanted);
      continue;
    }
    CHECK(contains(error, path.string()));
    ++errors;
    of_trials += contains(error, ": trial 0000") ? 1 : 0;
  }
  CHECK(errors > 1000);
  CHECK(of_trials > 500);
}

TEST_CASE("a repair keeps every trial that is sound, whatever bit has flipped") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "store.sqlite";
  const std::string bytes = make_store(path);
  std::map<std::string, std::string> wanted;
  RunStore(path).each([&](TrialRecord&& t) { wanted[t.id] = text_of(t); });
  std::mt19937 random(5);
  int repaired = 0;
  int64_t lost = 0;
  for (int round = 0; round < 300; ++round) {
    const size_t bit = random() % (8 * bytes.size());
    fs::remove_all(folder.path());
    fs::create_directories(folder.path());
    write(path, flipped(bytes, bit));
    CAPTURE(bit);
    int64_t sound = 0;
    const std::string error = error_of([&] {
      const StoreHealth health = examine_store(path);
      sound = health.sound;
      if (!health.damage.empty()) repaired += repair_store(path).empty() ? 0 : 1;
    });
    if (!error.empty()) {
      CHECK(contains(error, path.string()));  // not even the first page can be read
      continue;
    }
    CHECK(examine_store(path).damage.empty());
    int64_t kept = 0;
    RunStore(path).each([&](TrialRecord&& t) {
      ++kept;
      CHECK(text_of(t) == wanted[t.id]);
    });
    CHECK(kept == sound);
    lost += 5 - kept;
  }
  CHECK(lost < 2 * repaired);  // one bit is in one trial, unless it is in what holds a page together
  CHECK(repaired > 50);
}

TEST_CASE("a store of the version without checksums is read, counted as unchecked, and given them") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "store.sqlite";
  make_store(path, false);
  const std::string wanted = contents(path);
  without_checksums(path);
  CHECK(contents(path) == wanted);
  CHECK(RunStore(path, RunStore::Access::read).unchecked() == 5);
  CHECK(examine_store(path).unchecked == 5);
  {
    RunStore later(path);  // a run continues in it: its trials have checksums, the others still none
    later.put(trial("f", 1));
    CHECK(later.unchecked() == 5);
    later.put(trial(fmt::format("{:032x}", 0), 1));
    CHECK(later.unchecked() == 4);
  }
  CHECK(examine_store(path).sound == 2);
  CHECK(examine_store(path).damage.empty());
  CHECK(repair_store(path) == std::vector<std::string>{"4 trials have checksums now"});
  CHECK(RunStore(path, RunStore::Access::read).unchecked() == 0);
  CHECK(examine_store(path).sound == 6);
  CHECK(examine_store(path).damage.empty());
}

TEST_CASE("a store of the version without parts of the test set keeps its checksums, and takes trials that have them") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "store.sqlite";
  make_store(path, false);
  const std::string wanted = contents(path);
  without_parts(path);
  CHECK(contents(path) == wanted);
  CHECK(examine_store(path).damage.empty());
  {
    RunStore later(path);
    TrialRecord one = trial("f", 1);
    one.test_parts = {{"mse", {1, 2}}};
    later.put(one);
    CHECK(later.find("f")->test_parts == one.test_parts);
    CHECK(later.find(fmt::format("{:032x}", 0))->test_parts.empty());
  }
  CHECK(examine_store(path).sound == 6);
  CHECK(examine_store(path).damage.empty());
  // Without its table, a store that says it has one is damaged, not old.
  Database(path, false).run("PRAGMA user_version = 3");
  CHECK(contains(error_of([&] { contents(path); }), "says schema version 3, but has the tables of 4; it is damaged"));
}

TEST_CASE("trials that are gone from a store, or a plan that was changed, are errors") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "store.sqlite";
  make_store(path);
  Database(path, false).run("UPDATE plan SET x = 3 WHERE position = 1");
  CHECK(contains(error_of([&] { RunStore(path).plan(); }), "the plan of its latest run is not what was written"));
  const std::string no_digest(64, '0');
  Database(path, false).run(fmt::format("UPDATE seals SET digest = '{}' WHERE name = 'trials'", no_digest).c_str());
  CHECK(contains(error_of([&] { RunStore(path).known(); }), "(5 of 5 found with a checksum)"));
  Database(path, false).run("DELETE FROM trials WHERE id = (SELECT max(id) FROM trials)");
  CHECK(contains(error_of([&] { RunStore(path).known(); }), "(4 of 5 found with a checksum)"));
  CHECK(repair_store(path).size() == 1);
  CHECK(examine_store(path).sound == 4);
  CHECK(RunStore(path).plan().empty());
}

TEST_CASE("a repair waits for nobody: a store in use is refused") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "store.sqlite";
  make_store(path);
  Database(path, false).run("UPDATE scores SET value = 7 WHERE trial = (SELECT max(id) FROM trials)");
  RunStore other(path);
  CHECK(contains(error_of([&] { repair_store(path); }), "a process uses it"));
  CHECK(other.acquire("x", "", this_process(), {}, wall_clock()) == LeaseResult::taken);
  CHECK(contains(error_of([&] { repair_store(path); }), "trains a trial of it"));
  CHECK_FALSE(fs::exists(path.string() + ".damaged-1"));
}

TEST_CASE("a bit that flips in kept weights is an error, or changes nothing that is read") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "0123.safetensors";
  const models::NamedTensors tensors = {{"a.weight", engine::Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
                                        {"b", engine::Tensor::from<float>({4}, {0.5, -1, 0, 2})}};
  const std::string sum = tasks::save_weights(path, tensors, {{"trial", "0123"}, {"config", R"({"seed":1})"}});
  CHECK(tasks::check_weights(models::SafetensorsFile(path)) == sum);
  const auto contents_of = [&] {
    const models::SafetensorsFile file(path);
    std::string text = tasks::check_weights(file);
    for (const auto& [key, value] : file.metadata()) text += key + value;
    for (const std::string& name : file.names()) {
      const engine::Tensor x = file.tensor(name);
      text += name + x.str() + fmt::format("{}", fmt::join(x.to_vector<float>(), " "));
    }
    return text;
  };
  const std::string bytes = read(path), wanted = contents_of();
  int of_trial = 0;
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::ofstream(path, std::ios::binary) << flipped(bytes, bit);
    CAPTURE(bit);
    std::string got;
    const std::string error = error_of([&] { got = contents_of(); });
    if (error.empty()) CHECK(got == wanted);
    else CHECK(contains(error, path.string()));
    of_trial += contains(error, "trial 0123: its weights are not what was written") ? 1 : 0;
  }
  CHECK(of_trial > 300);
  // Other programs' files have none.
  models::write_safetensors(path, tensors, {{"format", "pt"}});
  CHECK(tasks::check_weights(models::SafetensorsFile(path)).empty());
}
