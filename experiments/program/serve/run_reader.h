#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "experiments/studies/run/run_state.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/run/stored_runs.h"

namespace headroom::experiments {

/// The contents of a run's store at one moment.
struct RunSnapshot {
  StoredRun run;
  RunState state;
  /// Losses so far of trials that have not ended: trial → (step, loss), in order of the steps.
  std::map<std::string, std::vector<std::pair<int64_t, double>>> live;
  std::string metric;                    ///< the report's; "" if the study has none
  std::map<std::string, double> values;  ///< trial → that metric on the test data
  std::vector<std::string> pages;        ///< the run's HTML files, the report first
  std::string size;                      ///< of its folder, "1.5 MB"
  std::string problem;                   ///< the reason for a failed read, "" for none
  bool is_read = false;                  ///< true if everything else was read
};

/// Reads one run again and again, also while others write it: a short snapshot each time, no transaction that stays
/// open, and none of what it has read before of trials that have ended. Safe to call from several threads.
class RunReader {
 public:
  explicit RunReader(StoredRun run) : run_(std::move(run)) {}

  /// The latest snapshot: a new one if the store's files have changed, or a process may have gone silent. Slow stores
  /// are read less often.
  std::shared_ptr<const RunSnapshot> read();

 private:
  using Clock = std::chrono::steady_clock;
  /// Modification times and sizes of the store's files.
  struct Stamp {
    int64_t store = 0, log = 0, reports = 0;
    uint64_t store_bytes = 0, log_bytes = 0;
    bool operator==(const Stamp&) const = default;
  };
  Stamp stamp() const;
  RunSnapshot take();
  void read_store(RunSnapshot& snapshot);
  const RunStore& opened();

  const StoredRun run_;
  std::mutex mutex_;
  std::unique_ptr<const RunStore> store_;  ///< of a shared folder: it reads only what is new there
  std::shared_ptr<const RunSnapshot> latest_;
  Stamp stamp_;
  Clock::time_point next_{};
  std::map<std::string, std::pair<int64_t, double>> values_;  ///< trial → attempts, test metric
  std::string config_, metric_;                               ///< the study's TOML and its metric
};

/// All runs under a folder.
class RunReaders {
 public:
  explicit RunReaders(std::filesystem::path out) : out_(std::move(out)) {}

  const std::filesystem::path& out() const { return out_; }
  /// One snapshot for every existing run.
  std::vector<std::shared_ptr<const RunSnapshot>> all();
  /// Null if there is no such run.
  std::shared_ptr<const RunSnapshot> find(const std::string& study, const std::string& profile);

 private:
  std::shared_ptr<RunReader> reader_of(const StoredRun& run);

  const std::filesystem::path out_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<RunReader>> readers_;  ///< by STUDY/PROFILE
};

/// The state of a run for a list: counts, time left, tags, notes, pages; or its problem.
nlohmann::ordered_json run_json(const RunSnapshot& snapshot);

/// One trial.
nlohmann::ordered_json trial_json(const RunSnapshot& snapshot, const TrialState& trial);

/// The load of this machine: runnable processes (mean of the last minute, null if unknown), cores, and bytes of memory
/// (0 if unknown).
nlohmann::ordered_json machine_json();

/// JSON as text; invalid UTF-8 becomes U+FFFD.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace headroom::experiments
