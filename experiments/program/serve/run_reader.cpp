#include "experiments/program/serve/run_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>

#include "engine/error.h"
#include "experiments/program/serve/run_files.h"
#include "experiments/studies/run/store/shared_folder.h"
#include "experiments/studies/toml/document.h"
#include "models/files/entries_of.h"
#include "models/files/file_size.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

int64_t written_at(const fs::path& path) {
  std::error_code error;
  const auto time = fs::last_write_time(path, error);
  return error ? 0 : static_cast<int64_t>(time.time_since_epoch().count());
}

uint64_t bytes_of(const fs::path& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  return error ? 0 : bytes;
}

/// report.y.metric of a resolved study; "" if it has none.
std::string metric_in(const std::string& config) {
  try {
    const Value study = parse_toml(config, "config", false);
    const Entry* report = study.find("report");
    const Entry* y = report ? report->value.find("y") : nullptr;
    const Entry* metric = y ? y->value.find("metric") : nullptr;
    return metric && metric->value.kind == Value::Kind::text ? metric->value.text : "";
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

RunReader::Stamp RunReader::stamp() const {
  if (is_shared(run_.folder)) {
    const fs::path shards = run_.folder / "shards", claims = run_.folder / "claims";
    uint64_t bytes = 0;
    for (const fs::path& shard : models::entries_if_any(shards)) bytes += bytes_of(shard);
    return {written_at(shards), written_at(claims), written_at(run_.folder), bytes, 0};
  }
  const fs::path store = run_.store(), log = store.string() + "-wal";
  return {written_at(store), written_at(log), written_at(run_.folder), bytes_of(store), bytes_of(log)};
}

std::shared_ptr<const RunSnapshot> RunReader::read() {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  if (latest_ && now < next_) return latest_;
  const Stamp present = stamp();
  // Processes of running trials may die without a trace in the files; a store without some of its lines begins anew.
  const bool may_change =
      latest_ && (latest_->state.running > 0 || !latest_->is_read || (store_ && store_->has_lost()));
  if (latest_ && present == stamp_ && !may_change) return latest_;
  latest_ = std::make_shared<const RunSnapshot>(take());
  stamp_ = present;
  constexpr int rest = 9;  // times as long as the reading
  next_ = Clock::now() + std::max<Clock::duration>((Clock::now() - now) * rest, std::chrono::milliseconds(400));
  return latest_;
}

RunSnapshot RunReader::take() {
  RunSnapshot snapshot;
  snapshot.run = run_;
  snapshot.pages = pages_of(run_);
  snapshot.size = models::size_text(size_of(run_).bytes);
  try {
    read_store(snapshot);
    snapshot.is_read = true;
  } catch (const Error& error) {
    snapshot.problem = error.what();
  }
  if (!snapshot.is_read || !is_shared(run_.folder)) store_.reset();
  return snapshot;
}

const RunStore& RunReader::opened() {
  if (!store_ || store_->has_lost()) store_ = std::make_unique<const RunStore>(run_.store(), RunStore::Access::read);
  return *store_;
}

void RunReader::read_store(RunSnapshot& snapshot) {
  const RunStore& store = opened();
  snapshot.state = read_run_state(store);
  for (const LivePoint& point : store.live_points()) snapshot.live[point.trial].emplace_back(point.step, point.loss);
  const auto facts = store.study();
  const auto config = facts.find("config");
  if (config != facts.end() && config->second != config_) {
    config_ = config->second;
    metric_ = metric_in(config_);
    values_.clear();
  }
  snapshot.metric = metric_;
  std::map<std::string, int64_t> lacking;  // trial → attempts
  for (const TrialState& trial : snapshot.state.trials) {
    if (trial.phase == TrialPhase::running && std::isfinite(trial.loss)) {
      auto& curve = snapshot.live[trial.entry.id];  // the lease is slightly ahead of the stored points
      if (curve.empty() || curve.back().first < trial.step) curve.emplace_back(trial.step, trial.loss);
    }
    const auto known = values_.find(trial.entry.id);
    if (trial.phase == TrialPhase::finished && (known == values_.end() || known->second.first != trial.attempts))
      lacking[trial.entry.id] = trial.attempts;
  }
  const auto keep = [&](const TrialRecord& record) {
    const auto own = lacking.find(record.id);
    const auto value = record.test.find(metric_);
    if (own != lacking.end())
      values_[record.id] = {own->second, value == record.test.end() ? std::nan("") : value->second};
  };
  constexpr size_t few = 40;
  if (lacking.size() > few) store.each([&](TrialRecord&& record) { keep(record); });
  else
    for (const auto& [id, attempts] : lacking)
      if (const auto record = store.find(id)) keep(*record);
  if (const std::vector<Fault> faults = store.faults(); !faults.empty())
    snapshot.problem =
        fmt::format("{}{}", faults[0].text(), faults.size() > 1 ? fmt::format("; and {} more", faults.size() - 1) : "");
  for (const TrialState& trial : snapshot.state.trials)
    if (const auto known = values_.find(trial.entry.id);
        trial.phase == TrialPhase::finished && known != values_.end() && std::isfinite(known->second.second))
      snapshot.values[trial.entry.id] = known->second.second;
}

std::shared_ptr<RunReader> RunReaders::reader_of(const StoredRun& run) {
  const std::lock_guard lock(mutex_);
  auto& reader = readers_[run.name()];
  if (!reader) reader = std::make_shared<RunReader>(run);
  return reader;
}

std::vector<std::shared_ptr<const RunSnapshot>> RunReaders::all() {
  std::vector<std::shared_ptr<const RunSnapshot>> snapshots;
  for (const StoredRun& run : stored_runs(out_)) snapshots.push_back(reader_of(run)->read());
  return snapshots;
}

std::shared_ptr<const RunSnapshot> RunReaders::find(const std::string& study, const std::string& profile) {
  for (const StoredRun& run : stored_runs(out_))
    if (run.study == study && run.profile == profile) return reader_of(run)->read();
  return nullptr;
}

}  // namespace headroom::experiments
