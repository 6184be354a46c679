#include "experiments/studies/export/export.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "experiments/studies/export/tensorboard.h"
#include "experiments/studies/run/store.h"
#include "tests/experiments/studies/export/wire.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

TrialRecord record(int heads, double lr, int seed) {
  TrialRecord r;
  r.id = "id" + std::to_string(heads) + std::to_string(lr) + std::to_string(seed);
  r.config =
      nlohmann::json{{"model", {{"heads", heads}, {"width", 64}}}, {"train", {{"lr", lr}}}, {"seed", seed}}.dump();
  r.steps = 20;
  r.history = {{10, "train", "loss", 0.5}, {10, "validation", "mse", 0.25}, {20, "validation", "mse", 0.125}};
  r.validation = {{"mse", 0.125}};
  r.test = {{"mse", 1.0 / heads}};
  r.test_parts = {{"mse", {0.5 / heads, 1.5 / heads}}};
  r.parameters = 100 * heads;
  r.flops = 1e9;
  r.seconds = 1.5 * seed;
  return r;
}

/// Puts trials into OUT/STUDY/quick in the order given.
void put(const std::filesystem::path& out, const std::string& study, const std::vector<TrialRecord>& records) {
  RunStore store(out / study / "quick" / "store.sqlite");
  for (const TrialRecord& r : records) store.put(r);
}

struct ReadTrial {
  StoredPlace place;
  TrialRecord record;
};

std::vector<ReadTrial> read_trials(const std::filesystem::path& out, const std::vector<std::string>& studies) {
  std::vector<ReadTrial> all;
  StoredTrials(out, studies).each([&](const StoredPlace& p, const TrialRecord& r) { all.push_back({p, r}); });
  return all;
}

/// What export_csv() or export_json() prints of a folder.
template <class F>
std::string exported(const F& write, const std::filesystem::path& out, Clock clock) {
  std::string text;
  write(StoredTrials(out, {}), clock, [&](std::string_view part) { text += part; });
  return text;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

}  // namespace

TEST_CASE("trials of a store stand in the order of their configs, numbers by value") {
  TemporaryFolder folder;
  put(folder.path(), "b", {record(16, 0.01, 2), record(4, 0.1, 1), record(16, 0.01, 1), record(4, 0.01, 1)});
  put(folder.path(), "a", {record(1, 0.01, 1)});
  const auto trials = read_trials(folder.path(), {});
  REQUIRE(trials.size() == 5);
  CHECK(trials[0].place.study == "a");
  CHECK(trials[0].place.config.empty());  // one trial has nothing that differs
  CHECK(trials[1].place.config == "model.heads=4 train.lr=0.01");
  CHECK(trials[2].place.config == "model.heads=4 train.lr=0.1");
  CHECK(trials[3].place.config == "model.heads=16 train.lr=0.01");
  CHECK(trials[3].record.seed == 1);
  CHECK(trials[4].record.seed == 2);
  CHECK(read_trials(folder.path(), {"a"}).size() == 1);
  CHECK(contains(error_of([&] { read_trials(folder.path(), {"c"}); }), "no run store of study 'c'"));
  CHECK(contains(error_of([&] { read_trials(folder.path() / "x", {}); }), "there is no run store"));
}

TEST_CASE("equal results are equal bytes, whatever ended first and however long it took") {
  TemporaryFolder one, two;
  std::vector<TrialRecord> records = {record(4, 0.01, 1), record(4, 0.01, 2), record(8, 0.01, 1)};
  put(one.path(), "s", records);
  std::reverse(records.begin(), records.end());
  for (TrialRecord& r : records) r.seconds += 7;
  put(two.path(), "s", records);
  const auto &a = one.path(), &b = two.path();
  CHECK(exported(export_csv, a, Clock::left_out) == exported(export_csv, b, Clock::left_out));
  CHECK(exported(export_json, a, Clock::left_out) == exported(export_json, b, Clock::left_out));
  CHECK(exported(export_csv, a, Clock::kept) != exported(export_csv, b, Clock::kept));
  CHECK_FALSE(contains(exported(export_csv, a, Clock::left_out), "seconds"));
  CHECK_FALSE(contains(exported(export_json, a, Clock::left_out), "seconds"));
}

TEST_CASE("a row of csv per number, by step") {
  TemporaryFolder folder;
  TrialRecord failed = record(8, 0.01, 1);
  failed.status = TrialStatus::failed;
  failed.test = failed.validation = {};
  failed.history[1].value = NAN;
  put(folder.path(), "s", {record(4, 0.01, 1), failed});
  const auto rows = lines(exported(export_csv, folder.path(), Clock::kept));
  const std::string id = record(4, 0.01, 1).id, start = "s,quick,model.heads=4,1," + id + ",finished,";
  REQUIRE(rows.size() == 1 + 8 + 6);
  CHECK(rows[0] == "study,profile,config,seed,trial,status,step,split,metric,value,model.heads");
  const char* const numbers[] = {"10,train,loss,0.5",         "10,validation,mse,0.25",        "20,test,mse,0.25",
                                 "20,trial,flops,1000000000", "20,trial,parameters,400",       "20,trial,seconds,1.5",
                                 "20,validation,mse,0.125",   "20,validation_judged,mse,0.125"};
  for (size_t i = 0; i < std::size(numbers); ++i) CHECK(rows[1 + i] == start + numbers[i] + ",4");
  CHECK(contains(rows[10], ",failed,10,validation,mse,nan,8"));
  put(folder.path(), "t", {record(4, 0.1, 1), record(4, 0.01, 1)});  // whose heads do not differ
  const auto both = lines(exported(export_csv, folder.path(), Clock::kept));
  CHECK(both[0] == rows[0] + ",train.lr");
  CHECK(both[1] == rows[1] + ",");
  CHECK(both.back().ends_with(",0.125,,0.1"));
}

TEST_CASE("json holds whole trials") {
  TemporaryFolder folder;
  TrialRecord r = record(4, 0.01, 3);
  r.predictions = {{1, 0.5}};
  r.history[0].value = INFINITY;
  put(folder.path(), "s", {r});
  const auto json = nlohmann::json::parse(exported(export_json, folder.path(), Clock::kept));
  REQUIRE(json.size() == 1);
  CHECK(json[0]["study"] == "s");
  CHECK(json[0]["config"]["model"]["heads"] == 4);
  CHECK(json[0]["seed"] == 3);
  CHECK(json[0]["test"]["mse"] == 0.25);
  CHECK(json[0]["test_parts"]["mse"] == nlohmann::json{0.125, 0.375});
  CHECK(json[0]["history"].size() == 3);
  CHECK(json[0]["history"][0]["value"].is_null());
  CHECK(json[0]["predictions"][0][1] == 0.5);
  CHECK(json[0]["seconds"] == 4.5);
}

TEST_CASE("a study is asked for by its file or its id") {
  const StudyFile file(small_study());
  CHECK(study_id(file.path()) == "small");
  CHECK(study_id("small") == "small");
}

TEST_CASE("CRC-32C by the check value of its definition") {
  CHECK(crc32c("123456789") == 0xE3069283U);
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAU);  // RFC 3720, B.4
  CHECK(crc32c("") == 0);
}

TEST_CASE("event files are read back") {
  TemporaryFolder folder;
  put(folder.path() / "runs", "s", {record(4, 0.01, 1), record(8, 0.01, 1)});
  CHECK(export_tensorboard(StoredTrials(folder.path() / "runs", {}), folder.path() / "events") == 2);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path() / "events"))
    if (entry.is_regular_file()) files.push_back(entry.path());
  REQUIRE(files.size() == 2);
  std::sort(files.begin(), files.end());
  CHECK(contains(files[0].string(), "s/quick/model-heads-4-seed-1-"));
  std::ostringstream text;
  text << std::ifstream(files[0], std::ios::binary).rdbuf();
  const auto events = payloads(text.str());
  REQUIRE(events.size() == 1 + 3 + 1);
  CHECK(fields(events[0]).at(3) == "brain.Event:2");
  const auto event = fields(events[1]);
  CHECK(event.at(1) == std::string(8, '\0'));
  CHECK(event.at(2) == "\x0a");
  const auto scalar = fields(fields(event.at(5)).at(1));
  CHECK(scalar.at(1) == "train/loss");
  const auto bits = number_at<uint32_t>(scalar.at(2), 0);
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  CHECK(value == 0.5F);
  CHECK(fields(fields(fields(events[4]).at(5)).at(1)).at(1) == "test/mse");
  // A step that takes more than one byte.
  CHECK(fields(payloads(scalar_record({300, "a", "b", 1}, 0))[0]).at(2) == "\xac\x02");
}
