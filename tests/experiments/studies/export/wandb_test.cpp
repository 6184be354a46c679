#include <algorithm>
#include <boost/crc.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "experiments/studies/export/export.h"
#include "experiments/studies/export/wandb_log.h"
#include "experiments/studies/run/store.h"
#include "tests/experiments/studies/export/wire.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

namespace fs = std::filesystem;

constexpr size_t head = 7, block = 32768;

/// The records of a W&B file, every checksum checked.
std::vector<std::string> records_of(const std::string& file) {
  REQUIRE(file.size() >= head);
  CHECK(file.substr(0, head) == std::string(":W&B\xe1\xbe\0", head));
  std::vector<std::string> records;
  bool is_within = false;
  for (size_t at = head; at < file.size();) {
    const size_t room = block - at % block;
    if (room < head) {
      CHECK(file.substr(at, room) == std::string(std::min(room, file.size() - at), '\0'));
      at += room;
      continue;
    }
    REQUIRE(at + head <= file.size());
    const auto checksum = number_at<uint32_t>(file, at);
    const auto size = number_at<uint16_t>(file, at + 4);
    const char type = file[at + 6];
    REQUIRE(size + head <= room);
    REQUIRE(at + head + size <= file.size());
    boost::crc_32_type crc;
    crc.process_bytes(file.data() + at + 6, size + 1U);
    CHECK(crc.checksum() == checksum);
    CHECK((type == 1 || type == 2) == !is_within);
    if (!is_within) records.emplace_back();
    records.back() += file.substr(at + head, size);
    is_within = type == 2 || type == 3;
    at += head + size;
  }
  CHECK_FALSE(is_within);
  return records;
}

/// Items { key = 1, value_json = 16 } by their keys.
std::map<std::string, std::string> items_of(const std::string& message) {
  std::map<std::string, std::string> all;
  for (const auto& [number, value] : field_list(message)) {
    if (number != 1) continue;
    const auto parts = fields(value);
    all[parts.at(1)] = parts.at(16);
  }
  return all;
}

TrialRecord wandb_trial() {
  TrialRecord r;
  r.id = "trial";
  r.config = R"({"model":{"heads":4},"seed":3})";
  r.steps = 20;
  r.history = {{10, "train", "loss", 0.5}, {10, "validation", "mse", NAN}, {20, "train", "loss", 0.25}};
  r.validation = {{"mse", 0.125}};
  r.test = {{"mse", 0.75}};
  r.parameters = 100;
  r.flops = 1e9;
  r.seconds = 90;
  r.code = "0.1";
  return r;
}

std::string exported_file(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".wandb") found.push_back(entry.path());
  REQUIRE(found.size() == 1);
  return found[0];
}

}  // namespace

TEST_CASE("a W&B file's bytes") {
  WandbLog log;
  CHECK(log.bytes() == std::string(":W&B\xe1\xbe\0", 7));
  log.add("123456789");
  // zlib.crc32(b"\x01123456789")
  CHECK(log.bytes().substr(7) == std::string("\xc0\x2e\xb5\x21\x09\x00\x01", 7) + "123456789");
}

TEST_CASE("records of W&B files are cut at the ends of blocks") {
  // Behind the first record are `left` bytes of the first block.
  for (const size_t left : {0, 1, 6, 7, 8, 9, 100}) {
    CAPTURE(left);
    const std::string one(block - 2 * head - left, 'a');
    for (const size_t size : {0, 1, 2, 93, 94, 32761, 32762, 100000}) {
      CAPTURE(size);
      const std::string two(size, 'b');
      WandbLog log;
      log.add(one);
      log.add(two);
      log.add("end");
      CHECK(records_of(log.bytes()) == std::vector<std::string>{one, two, "end"});
    }
  }
}

TEST_CASE("a trial is an offline run of W&B") {
  TemporaryFolder folder;
  {
    RunStore store(folder / "runs/study/quick/store.sqlite");
    store.put(wandb_trial());
    store.add_tag("wide");
    store.add_note("two\nlines");
  }
  CHECK(export_wandb(StoredTrials(folder / "runs", {}), folder.path(), "") == 1);
  const std::string file = exported_file(folder.path());
  // The seconds at which a trial ended are the store's.
  CHECK(std::regex_search(file,
                          std::regex("/wandb/offline-run-20[0-9]{6}_[0-9]{6}-[0-9a-f]{16}/run-[0-9a-f]{16}.wandb$")));
  CHECK(fs::is_directory(fs::path(file).parent_path() / "files"));
  const auto records = records_of(read_bytes(file));
  REQUIRE(records.size() == 8);  // header, run, two steps, summary, exit, final, footer
  for (size_t i = 0; i < records.size(); ++i)
    CHECK(fields(records[i]).at(1) == std::string(1, static_cast<char>(i + 1)));
  const auto run = fields(fields(records[1]).at(17));
  CHECK(contains(file, "/run-" + run.at(1) + ".wandb"));
  CHECK(run.at(1).size() == 16);
  CHECK(run.at(3) == "study");
  CHECK(run.at(6) == "quick");
  CHECK(run.at(8) == "seed 3");
  CHECK(run.at(9) == "two\nlines");
  CHECK(run.at(10) == "wide");
  const auto config = items_of(run.at(4));
  CHECK(config.at("model") == R"({"heads":4})");
  CHECK(nlohmann::json::parse(config.at("headroom"))["trial"] == "trial");
  const auto step = items_of(fields(records[2]).at(2));
  CHECK(step == std::map<std::string, std::string>{{"_step", "10"}, {"train/loss", "0.5"}, {"validation/mse", "NaN"}});
  const auto summary = items_of(fields(records[4]).at(3));
  CHECK(summary.at("train/loss") == "0.25");
  CHECK(summary.at("test/mse") == "0.75");
  CHECK(summary.at("validation_judged/mse") == "0.125");
  CHECK(summary.at("trial/status") == "\"finished\"");
  CHECK(summary.at("_step") == "20");
  CHECK(fields(fields(records[5]).at(18)).at(1) == std::string(1, '\0'));  // exit code
}

TEST_CASE("to export again changes nothing; what has changed replaces the folder") {
  TemporaryFolder folder;
  TrialRecord trial = wandb_trial();
  const auto put = [&] { RunStore(folder / "runs/study/quick/store.sqlite").put(trial); };  // ended now
  const auto exported = [&] {
    export_wandb(StoredTrials(folder / "runs", {}), folder.path(), "mine");
    return exported_file(folder.path());
  };
  trial.status = TrialStatus::failed;
  trial.message = "failed at step 7";
  put();
  const std::string before = exported();
  const auto records = records_of(read_bytes(before));
  CHECK(fields(fields(records[1]).at(17)).at(3) == "mine");
  CHECK(fields(fields(records[5]).at(18)).at(1) == "\x01");
  write_bytes(before + ".synced", "");
  CHECK(exported() == before);
  CHECK(fs::exists(before + ".synced"));
  trial.message = "failed at step 8";
  put();
  const std::string after = exported();  // of the same name, if put() was in the same second
  CHECK_FALSE(fs::exists(after + ".synced"));
  trial.status = TrialStatus::finished;  // it was tried again, and begun at another time
  trial.seconds += 3600;
  put();
  CHECK(exported() != after);  // and the other folder is gone
}
