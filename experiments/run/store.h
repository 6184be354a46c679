#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "experiments/results.h"

struct sqlite3;

namespace headroom::experiments {

/// The trials of one study under one profile, in SQLite with a write-ahead log: what put() has returned from survives a
/// killed process. Rows are found by the trial's id, so another sweep of the same study shares them. Safe to call from
/// several threads, and from several processes.
class RunStore {
 public:
  /// Opens or makes the file and its folder. Throws Error naming the path when that cannot be done.
  explicit RunStore(const std::filesystem::path& path);
  ~RunStore();
  RunStore(const RunStore&) = delete;
  RunStore& operator=(const RunStore&) = delete;

  /// What is known of a trial: its outcome, without series, x, choice and seed, which belong to the plan.
  std::optional<TrialRecord> find(const std::string& id) const;
  /// Keeps an outcome, in place of an older one of the same id. Throws Error when the disk is full; what was there
  /// stays.
  void put(const TrialRecord& trial, const std::string& config_json);

 private:
  std::filesystem::path path_;
  mutable std::mutex mutex_;
  sqlite3* db_ = nullptr;
};

}  // namespace headroom::experiments
