#include "experiments/studies/export/live_events.h"

#include <algorithm>

#include "tests/experiments/studies/export/wire.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

PlannedTrial planned_trial(const std::string& id) {
  PlannedTrial trial;
  trial.id = id;
  trial.series = "wide";
  trial.label = "heads=4 seed=1";
  return trial;
}

const HistoryPoint first{10, "train", "loss", 0.5}, second{10, "validation", "mse", 0.25},
    third{300, "train", "loss", 0.125};

TrialRecord ended(std::vector<HistoryPoint> history) {
  TrialRecord record;
  record.steps = 300;
  record.test = {{"mse", 0.75}};
  record.history = std::move(history);
  return record;
}

void no_warning(const std::string& line) { FAIL(line); }

Lines files_in(const fs::path& folder) {
  Lines names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("the event file of a trial grows while it trains") {
  TemporaryFolder folder;
  LiveEvents live(folder / "events", "study", "quick");
  CHECK(fs::is_directory(folder / "events/study/quick"));
  const auto watcher = live.watch(planned_trial("0123456789"), no_warning);
  const fs::path file =
      folder / "events/study/quick/wide-heads-4-seed-1-01234567/events.out.tfevents.0000000001.headroom";
  watcher->curve({});
  CHECK(event_lines(read_bytes(file)) == Lines{"start 0"});
  watcher->curve({first, second});
  CHECK(event_lines(read_bytes(file)) == Lines{"start 0", "10 train/loss 0.500000", "10 validation/mse 0.250000"});
  watcher->curve({first, second, third});
  CHECK(event_lines(read_bytes(file)).back() == "300 train/loss 0.125000");
  watcher->end(ended({first, second, third}));
  const Lines lines = event_lines(read_bytes(file));
  CHECK(lines.size() == 5);
  CHECK(lines.back() == "300 test/mse 0.750000");
  // The time of writing, in seconds since 1970.
  const auto bits = number_at<uint64_t>(fields(payloads(read_bytes(file))[2]).at(1), 0);
  double time = 0;
  std::memcpy(&time, &bits, sizeof time);
  CHECK(time > 1.7e9);
}

TEST_CASE("a trial that goes on begins a file with its whole curve") {
  TemporaryFolder folder;
  LiveEvents live(folder.path(), "study", "quick");
  const fs::path trial = folder / "study/quick/wide-heads-4-seed-1-id";
  live.watch(planned_trial("id"), no_warning)->curve({first, third});  // a checkpoint of step 10, then a kill
  const auto watcher = live.watch(planned_trial("id"), no_warning);
  watcher->curve({first});
  watcher->curve({first, third});
  REQUIRE(files_in(trial) ==
          Lines{"events.out.tfevents.0000000001.headroom", "events.out.tfevents.0000000002.headroom"});
  CHECK(event_lines(read_bytes(trial / "events.out.tfevents.0000000002.headroom")) ==
        Lines{"start 0", "10 train/loss 0.500000", "300 train/loss 0.125000"});
}

TEST_CASE("a formula has its scores alone") {
  TemporaryFolder folder;
  LiveEvents live(folder.path(), "study", "quick");
  live.watch(planned_trial("id"), no_warning)->end(ended({}));
  const std::string name = "study/quick/wide-heads-4-seed-1-id/events.out.tfevents.0000000001.headroom";
  CHECK(event_lines(read_bytes(folder / name)) == Lines{"start 0", "300 test/mse 0.750000"});
}

TEST_CASE("a file that cannot be written is told once, and made up for as soon as it can be") {
  TemporaryFolder folder;
  LiveEvents live(folder.path(), "study", "quick");
  Lines warnings;
  const auto warn = [&](const std::string& line) { warnings.push_back(line); };
  const fs::path place = folder / "study/quick/wide-heads-4-seed-1-id";
  write_bytes(place, "in the way");
  const auto watcher = live.watch(planned_trial("id"), warn);
  watcher->curve({first});
  watcher->curve({first, second});
  watcher->end(ended({first, second}));
  live.watch(planned_trial("id"), warn)->curve({first});
  REQUIRE(warnings.size() == 1);
  CHECK(contains(warnings[0], "headroom: --tensorboard: cannot make folder " + place.string()));
  CHECK(contains(warnings[0], "; the training goes on"));
  fs::remove(place);
  watcher->curve({first, second});
  CHECK(event_lines(read_bytes(place / "events.out.tfevents.0000000001.headroom")).size() == 3);
}

TEST_CASE("the next event file comes after all others of its folder") {
  TemporaryFolder folder;
  LiveEvents live(folder.path(), "study", "quick");
  const fs::path place = folder / "study/quick/wide-heads-4-seed-1-id";
  fs::create_directory(place);
  write_bytes(place / "events.out.tfevents.1700000000.machine.123.0", "");
  write_bytes(place / "events.out.tfevents.x", "");
  live.watch(planned_trial("id"), no_warning)->curve({});
  CHECK(fs::exists(place / "events.out.tfevents.1700000001.headroom"));
  write_bytes(place / "events.out.tfevents.99999999999999999999999.machine", "");
  live.watch(planned_trial("id"), no_warning)->curve({});
  CHECK(fs::exists(place / "events.out.tfevents.9999999999.headroom"));
  std::string warning;
  live.watch(planned_trial("id"), [&](const std::string& line) { warning = line; })->curve({});
  CHECK(contains(warning, "events.out.tfevents.9999999999.headroom: cannot be made"));
}
