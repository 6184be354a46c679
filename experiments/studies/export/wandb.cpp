#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "experiments/output/file.h"
#include "experiments/output/text.h"
#include "experiments/studies/export/export.h"
#include "experiments/studies/export/protobuf.h"
#include "experiments/studies/export/wandb_log.h"
#include "experiments/version.h"
#include "models/files/entries_of.h"
#include "models/files/regular_file.h"
#include "tasks/data/sha256.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Fields of the messages in wandb/proto/wandb_internal.proto. Files on disk hold them, so that they keep their numbers.
struct RecordField {
  enum : uint32_t { num = 1, history = 2, summary = 3, run = 17, exit = 18, final = 20, header = 21, footer = 22 };
};
struct RunField {
  enum : uint32_t { id = 1, project = 3, config = 4, group = 6, name = 8, notes = 9, tags = 10, start_time = 17 };
};
struct ItemField {
  enum : uint32_t { key = 1, value_json = 16 };
};
constexpr uint32_t items = 1;    // of HistoryRecord
constexpr uint32_t updates = 1;  // of ConfigRecord and SummaryRecord

std::string wandb_json(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// W&B's JSON has NaN and infinities.
std::string number_text(double value) {
  if (std::isfinite(value)) return wandb_json(value);
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

ProtoMessage wandb_item(const std::string& key, const std::string& value_json) {
  return ProtoMessage().text(ItemField::key, key).text(ItemField::value_json, value_json);
}

/// The records of a run's file, numbered from 1.
class WandbFile {
 public:
  void add(uint32_t field, const ProtoMessage& message) {
    log_.add(ProtoMessage().integer(RecordField::num, ++count_).message(field, message).bytes());
  }
  const std::string& bytes() const { return log_.bytes(); }

 private:
  WandbLog log_;
  int64_t count_ = 0;
};

std::string wandb_id(const StoredPlace& place, const TrialRecord& trial) {
  return tasks::sha256(fmt::format("{}\n{}\n{}", place.study, place.profile, trial.id)).substr(0, 16);
}

/// Seconds since 1970.
int64_t started_at(const TrialRecord& r) { return std::max<int64_t>(0, std::llround(r.ended - r.seconds)); }

ProtoMessage wandb_config(const StoredPlace& place, const TrialRecord& r) {
  ProtoMessage config;
  if (const Json keys = Json::parse(r.config, nullptr, false); keys.is_object())
    for (const auto& [key, value] : keys.items()) config.message(updates, wandb_item(key, wandb_json(value)));
  const Json origin{
      {"study", place.study}, {"profile", place.profile}, {"trial", r.id}, {"code", r.code}, {"data", r.data}};
  return config.message(updates, wandb_item("headroom", wandb_json(origin)));
}

ProtoMessage wandb_run(const StoredPlace& place, const TrialRecord& trial, const std::string& project) {
  std::string notes;
  for (const std::string& note : place.notes) notes += (notes.empty() ? "" : "\n\n") + note;
  ProtoMessage message;
  message.text(RunField::id, wandb_id(place, trial))
      .text(RunField::project, clean(project.empty() ? place.study : project))
      .message(RunField::config, wandb_config(place, trial))
      .text(RunField::group, clean(place.profile))
      .text(RunField::name, clean(place.words(trial)));
  if (!notes.empty()) message.text(RunField::notes, clean(notes));
  for (const std::string& tag : place.tags) message.text(RunField::tags, clean(tag));
  return message.message(RunField::start_time, ProtoMessage().integer(1, started_at(trial)));
}

/// A record for each step, in their order, and in `latest` the last value of each metric.
void add_history(const TrialRecord& r, WandbFile& file, std::map<std::string, std::string>& latest) {
  std::map<int64_t, std::map<std::string, std::string>> steps;
  for (const HistoryPoint& p : r.history) steps[p.step][p.split + "/" + p.metric] = number_text(p.value);
  for (const auto& [step, values] : steps) {
    ProtoMessage history;
    for (const auto& [name, value] : values) history.message(items, wandb_item(name, latest[name] = value));
    history.message(items, wandb_item("_step", std::to_string(step)));
    const ProtoMessage number = ProtoMessage().integer(1, step);
    file.add(RecordField::history, history.message(2, number));
  }
}

ProtoMessage wandb_summary(const TrialRecord& r, std::map<std::string, std::string> values) {
  for (const auto& [metric, value] : r.validation) values["validation_judged/" + metric] = number_text(value);
  for (const auto& [metric, value] : r.test) values["test/" + metric] = number_text(value);
  values["trial/parameters"] = std::to_string(r.parameters);
  values["trial/flops"] = number_text(r.flops);
  values["trial/seconds"] = values["_runtime"] = number_text(r.seconds);
  values["trial/status"] = wandb_json(name_of(r.status));
  if (!r.message.empty()) values["trial/message"] = wandb_json(r.message);
  values["_step"] = std::to_string(r.steps);
  values["_timestamp"] = number_text(r.ended);
  values["_wandb"] = wandb_json({{"runtime", std::llround(r.seconds)}});
  ProtoMessage summary;
  for (const auto& [name, value] : values) summary.message(updates, wandb_item(name, value));
  return summary;
}

std::string wandb_file(const StoredPlace& place, const TrialRecord& trial, const std::string& project) {
  constexpr uint32_t version_info = 1, producer = 1, exit_code = 1, runtime = 2;
  WandbFile file;
  file.add(RecordField::header,
           ProtoMessage().message(version_info, ProtoMessage().text(producer, "headroom " + version())));
  file.add(RecordField::run, wandb_run(place, trial, project));
  std::map<std::string, std::string> latest;
  add_history(trial, file, latest);
  file.add(RecordField::summary, wandb_summary(trial, std::move(latest)));
  const int64_t status = trial.status == TrialStatus::finished ? 0 : 1;
  file.add(RecordField::exit, ProtoMessage().integer(exit_code, status).integer(runtime, std::llround(trial.seconds)));
  file.add(RecordField::final, {});
  file.add(RecordField::footer, {});
  return file.bytes();
}

bool has_bytes(const fs::path& file, const std::string& bytes) {
  std::error_code error;
  return fs::is_regular_file(file, error) && models::read_file(file, models::any_file) == bytes;
}

/// Folders of the same run that an earlier export made, when it had begun at another time.
void remove_other_folders(const fs::path& runs, const std::string& id, const fs::path& kept) {
  for (const fs::path& run : models::entries_if_any(runs)) {
    const std::string name = run.filename().string();
    const bool is_of_this_run = name.starts_with("offline-run-") && name.ends_with("-" + id) && run != kept;
    if (std::error_code none; is_of_this_run && fs::is_regular_file(run / ("run-" + id + ".wandb"), none))
      fs::remove_all(run, none);
  }
}

}  // namespace

size_t export_wandb(const StoredTrials& trials, const fs::path& folder, const std::string& project) {
  const fs::path runs = folder / "wandb";
  size_t count = 0;
  trials.each([&](const StoredPlace& place, const TrialRecord& trial) {
    ++count;
    const std::string id = wandb_id(place, trial);
    const std::time_t start = started_at(trial);
    const fs::path run = runs / fmt::format("offline-run-{:%Y%m%d_%H%M%S}-{}", fmt::gmtime(start), id);
    const fs::path file = run / ("run-" + id + ".wandb");
    make_folder(run / "files");
    remove_other_folders(runs, id, run);
    const std::string bytes = wandb_file(place, trial, project);
    if (has_bytes(file, bytes)) return;
    write_file(file, bytes);
    std::error_code none;
    fs::remove(file.string() + ".synced", none);  // W&B's mark that it has this file
  });
  return count;
}

}  // namespace headroom::experiments
