#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "experiments/studies/run/store/open_file.h"
#include "experiments/studies/run/store/shard_lines.h"

namespace headroom::experiments {

/// "HOST-PID", as a process's shards are called.
std::string writer_name(const Owner& owner);
/// Whether a name is one that shards have.
bool is_shard(std::string_view name);

/// The trials of a run whose folder several hosts share: a file for each process, `HOST-PID.jsonl`, with a line per
/// trial that has ended there, as `export trials` writes it, with its weights' checksum, the instruction set and its
/// own SHA-256. Nobody writes to another's file, and nothing that is written changes. `plan.json` and `notes.json`,
/// which anyone replaces whole, have what else a store knows. What cannot be read is a fault of its own, and the rest
/// is read. Not for several threads at once. Where the folder itself cannot be read, functions throw Error naming it.
class Shards {
 public:
  explicit Shards(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }
  /// Adds trials that have ended to this object's own file, which it makes, whole and synced, and another one where
  /// somebody has moved that aside since. Throws Error naming the folder; nothing of them is there then.
  void append(const std::vector<TrialRecord>& trials);
  /// Calls `f` with every line that is new since the last call; only what has changed is opened. A line
  /// that stands twice counts once. The last bytes of a file without a line feed are a line on its way, or of a process
  /// that was killed in it. After an Error in between, forget() comes first.
  void each_new(const std::function<void(ShardLine&&)>& f);
  /// Forgets what was read: each_new() begins with the first line.
  void forget();
  /// Whether a file that was read has gone or was replaced since, so that its lines may stand nowhere any more.
  bool has_lost() const { return has_lost_; }
  /// What could not be read by the latest each_new() and new_facts(), a few lines of each file.
  std::vector<Fault> faults() const;

  /// Plan and study in place of those that are there; what cannot be read there is set aside.
  void keep_plan(const RunFacts& facts) const { replace("plan.json", {facts.facts, facts.plan, {}, {}}); }
  /// Notes and tags likewise; of two who change them at once, one may come to nothing.
  void keep_notes(const RunFacts& facts) const { replace("notes.json", {{}, {}, facts.tags, facts.notes}); }
  /// All of these, when they changed since the last call.
  std::optional<RunFacts> new_facts();

  /// Sets aside what cannot be read, and the lines `others`: a shard is then written anew without. Returns what was
  /// done, a line each.
  std::vector<std::string> repair(const std::vector<Fault>& others) const;
  /// Puts the lines of many shards that were not written to for a lease, by the server's time `now`, into this object's
  /// own, and removes those. `writers`: the writer_name() of all that may write; so may who is running on this host.
  void merge(double now, const std::set<std::string>& writers);

 private:
  struct Place {
    FileLook look;
    size_t bytes = 0;  ///< up to the first line that could not be read
    int64_t lines = 0;
    std::vector<Fault> faults;
    bool is_there = false;
  };
  struct FactsFile {
    FileLook look;
    RunFacts facts;
    std::optional<Fault> fault;
  };
  void write_own(const std::string& text);
  void make_own(const OpenFolder& folder);
  bool read_new(const OpenFolder& folder, const std::string& name, Place& place,
                const std::function<void(ShardLine&&)>& f);
  bool read_facts(const OpenFolder& folder, const char* name, FactsFile& known) const;
  void replace(const char* name, const RunFacts& facts) const;

  const std::filesystem::path folder_;
  std::map<std::string, Place> read_;      ///< how far, by file
  std::unordered_set<std::string> seals_;  ///< of the lines that were read
  bool has_lost_ = false;
  std::unique_ptr<OpenFile> own_;
  FactsFile plan_, notes_;
};

}  // namespace headroom::experiments
