#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/run/store/open_file.h"
#include "experiments/studies/run/store/trial_lines.h"

namespace headroom::experiments {

/// A trial of a shard.
struct ShardLine {
  TrialRecord trial;
  std::string level;  ///< engine::kernel_level() of who trained it; of earlier programs the instruction set alone
  std::string where;  ///< "…/shards/node1-4711.jsonl:3"
};

/// The trials of a run whose folder several hosts share: a file for each process, `HOST-PID.jsonl`, with a line per
/// trial that has ended there, as `export trials` writes it, with its weights' checksum, the instruction set and its
/// own SHA-256. Nobody writes to another's file, and nothing that is written changes. `plan.json` and `notes.json`,
/// which anyone replaces whole, have what else a store knows. Not for several threads at once.
class Shards {
 public:
  explicit Shards(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Adds trials that have ended to this object's own file, which it makes, whole and synced. Throws Error naming the
  /// folder; nothing of them is there then.
  void append(const std::vector<TrialRecord>& trials);
  /// Calls `f` with every line that is new since the last call that returned. The last line of a file may be cut off: a
  /// process was killed in it, or is writing. One whose checksum does not fit is passed over, with those behind it,
  /// while its file changed less than lease_seconds before `now()`, the server's time, as a network brings bytes in any
  /// order; later that is an Error "FILE:LINE: …".
  void each_new(const std::function<double()>& now, const std::function<void(ShardLine&&)>& f);
  /// The files that have bytes which are not what was written, with those lines of each that are.
  std::map<std::filesystem::path, std::string> damaged() const;

  /// Plan and study in place of those that are there.
  void keep_plan(const RunFacts& facts) const;
  /// Notes and tags likewise; of two who change them at once, one may come to nothing.
  void keep_notes(const RunFacts& facts) const;
  /// All of these, when they changed since the last call. Throws Error naming the file.
  std::optional<RunFacts> new_facts();

 private:
  struct Place {
    size_t bytes = 0;
    int64_t lines = 0;
  };
  struct FactsFile {
    std::string stamp;
    RunFacts facts;
  };
  bool read_facts(const char* name, FactsFile& file) const;

  std::filesystem::path folder_;
  std::map<std::string, Place> read_;  ///< how far, by file
  std::unique_ptr<OpenFile> own_;
  FactsFile plan_, notes_;
};

}  // namespace headroom::experiments
