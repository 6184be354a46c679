#pragma once
#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "experiments/studies/results.h"
#include "experiments/studies/run/store/annotations.h"
#include "experiments/studies/run/store/database.h"
#include "experiments/studies/run/store/owner.h"

namespace headroom::experiments {

/// A trial that a process is training.
struct Lease {
  std::string trial, label;
  Owner owner;
  double heartbeat = 0;  ///< seconds since 1970
  int64_t step = 0, steps = 0;
  double loss = 0;
};

/// Whether its process was heard of lately and is not known to be gone, going by one look: a heartbeat that lies
/// further ahead than lease_seconds is no sign of life, since the clock that wrote it was set back since, or is wrong.
bool is_alive(const Lease& lease);

/// What acquire() found.
enum class LeaseResult {
  taken,  ///< the trial is the caller's
  held,   ///< another process is training it
  done    ///< it came to an end since the caller looked
};

/// What a store has beside its trials.
struct RunFacts {
  std::map<std::string, std::string> facts;  ///< RunStore::study()
  std::vector<PlanEntry> plan;
  std::vector<std::string> tags;
  std::vector<Note> notes;
};

/// What of a shared folder cannot be read, so that all else is read without it.
struct Fault {
  std::filesystem::path file;
  int64_t line = 0;  ///< 0: all of the file
  std::string what;
  /// "FILE:LINE: WHAT".
  std::string text() const;
};

struct SharedFolder;
struct ShardLine;

/// The trials of one study under one profile, in SQLite with a write-ahead log: what put() has returned from survives a
/// killed process. Rows are found by the trial's id, so another sweep of the same study shares them. Several processes
/// share the work by leases. In a shared folder (store/shared_folder.h) trials are in shards and leases are files; what
/// is read is in this object's memory (some KB a trial), where each pass over all trials, and each acquire(), first
/// folds what has been added to the shards. Safe to call from several threads.
class RunStore {
 public:
  enum class Access { write, read, read_file };
  /// Opens or makes the file and its folder; brings an older schema to the present one. In a shared folder, or one that
  /// becomes shared as it is on a network (Access::write), the file is in name only; Access::write takes along what one
  /// that lies there has, and Access::read_file reads that. Reading makes nothing and works in a folder without write
  /// permission; a file that holds nothing yet, since another process is about to make
  /// the store or was killed before, is read as a store without trials. Throws Error naming the path when that cannot
  /// be done, and naming both versions when the store is from a newer program.
  explicit RunStore(const std::filesystem::path& path, Access access = Access::write);
  ~RunStore();
  /// Whether there is such a store, its file or a shared folder in its place.
  static bool exists(const std::filesystem::path& path);
  std::filesystem::path folder() const { return database_.path().parent_path(); }
  /// Seconds that a process which waits for others' trials may let go by between two looks.
  double seconds_between_looks() const { return shared_ ? 2 : 0.2; }

  /// What the latest pass over a shared folder could not read, and the lines of trials whose results differ. Where more
  /// lines agree on a result than on any other, it counts; else the trial has failed, and the next run trains it again.
  std::vector<Fault> faults() const;
  /// Whether files of a shared folder went or were replaced since they were read: a store that is opened anew may hold
  /// less.
  bool has_lost() const;

  // Whatever is read is compared with the checksum that was kept beside it: an Error names the file and the trial whose
  // bytes have changed. Trials of stores of older programs have none: unchecked() counts them.

  /// What is known of a trial: its outcome, without series, x, choice and seed, which belong to the plan.
  std::optional<TrialRecord> find(const std::string& id) const;
  /// Every trial that came to an end, by id, in one pass; `f` must not use the store. Throws Error, at the end, when
  /// trials are missing.
  void each(const std::function<void(TrialRecord&&)>& f) const;
  /// The same without scores, curve and predictions.
  void each_outcome(const std::function<void(TrialRecord&&)>& f) const;
  int64_t unchecked() const;
  /// What the next run asks of a trial; no scores and no curve are read.
  struct Known {
    int64_t attempts = 0;  ///< times that it came to an end
    bool is_finished = false;
    std::map<std::string, std::string> data{};  ///< file → hash of what was read
    std::string weights{};                      ///< checksum of those that were kept, "" for none
  };
  Known known(const std::string& id) const;
  /// The same of every trial that came to an end, by id.
  std::unordered_map<std::string, Known> known() const;
  /// Keeps an outcome, in place of an older one of the same id, in one transaction. With `owner`, only if the lease is
  /// still that one's, which then ends: false when another process has taken the trial over. `publish` is called when
  /// that is known, just before the commit: a file that it renames is never a stale owner's. Throws Error when the disk
  /// is full; what was there stays.
  bool put(const TrialRecord& trial, const Owner* owner = nullptr, const std::function<void()>& publish = {});

  using TakeTrial = std::function<void(const TrialRecord& trial)>;
  /// Takes over what another store has, in one transaction. A trial that is there stays, unless it failed there and
  /// finished in the other store; one that is added keeps when it ended, and how often. So does the plan of the latest
  /// run, where there is one. Notes and tags are added that are not there. `each_trial` hands all of its trials to its
  /// argument; what it throws undoes everything. Returns how many trials were added, and how many were there.
  std::pair<int64_t, int64_t> take_over(const RunFacts& others,
                                        const std::function<void(const TakeTrial&)>& each_trial);

  /// Takes a trial for `owner`, also one that was known to be finished, unless it came to an end after `known` was
  /// read, or another owner holds it, is not known to be gone and was heard of less than lease_seconds before `now`. A
  /// heartbeat from the future says nothing of when that was: it holds until this store has seen it unchanged for
  /// lease_seconds of `steady`, a clock that nobody sets.
  LeaseResult acquire(const std::string& id, const std::string& label, const Owner& owner, const Known& known,
                      double now, double steady = steady_clock());
  /// Calls `f` while the trial's lease is the owner's and can become nobody else's. False, without that call, when it
  /// is not. `f` must not use the store.
  bool while_held(const std::string& id, const Owner& owner, const std::function<void()>& f);
  /// Calls `f` with all leases while none can change hands and no outcome can be kept. `f` must not use the store.
  void while_leases_stand(const std::function<void(const std::vector<Lease>&)>& f);
  /// Renews the leases of trials that are being trained, and adds their losses to their live curves. Those that are no
  /// longer the owner's are left alone; returns their trials.
  std::vector<std::string> renew(const std::vector<Lease>& leases, double now);
  /// Gives a trial back without an outcome.
  void release(const std::string& id, const Owner& owner);
  std::vector<Lease> leases() const;
  /// The losses so far of trials that have not ended, also of those that were stopped.
  std::vector<LivePoint> live_points() const;

  /// What the latest run needs of this store, so that it can be read without the study's file.
  void set_plan(const std::map<std::string, std::string>& study, const std::vector<PlanEntry>& plan);
  std::vector<PlanEntry> plan() const;
  /// "id", "title", "profile", "config" (TOML).
  std::map<std::string, std::string> study() const;
  RunFacts facts() const;

  // Notes and tags of the run: they stay when it goes on, and are no part of any trial. Errors as in annotations.h.
  std::vector<Note> notes() const;
  std::vector<std::string> tags() const;
  void add_note(const std::string& text);
  bool remove_note(int64_t id);  ///< false when there is none
  void add_tag(const std::string& tag);
  bool remove_tag(const std::string& tag);  ///< false when there is none

 private:
  template <class F, class... Values>
  auto locked(const F& f, const Values&... values) const;
  template <class F, class... Values>
  auto at_one_moment(const F& f, const Values&... values) const;
  Known known_here(const std::string& id) const;
  void fold() const;
  void start_over() const;
  void check_is_alone() const;
  void take_line(ShardLine&& line) const;
  void settle(const std::string& id, int64_t attempts) const;
  LeaseResult acquire_shared(const Lease& lease, const Known& known, double steady);
  bool annotate(const std::function<bool(const Database&)>& change);
  void keep_annotations() const;
  bool is_held_by_other(const Lease& lease, const Owner& owner, double now, double steady);

  /// Since when a trial's lease has looked as it does.
  struct Sight {
    std::string owner;
    double heartbeat = 0, since = 0;
  };

  /// A line of a shard.
  struct Origin {
    std::string shard, level;
    int64_t number = 0;
    double weights_at = 0;  ///< when the trial ended whose weights are there
    auto place() const { return std::tie(shard, number); }
  };
  /// A trial, and the line that counts.
  struct Folded {
    Origin origin;
    TrialRecord trial;
  };
  /// One of several results that a trial has.
  struct Result {
    Origin origin;
    std::string digest;
    TrialRecord trial;
  };
  std::string text_of(const Origin& origin) const;

  mutable std::mutex mutex_;
  const std::unique_ptr<SharedFolder> shared_;                   ///< null: the store is the database
  mutable std::map<std::string, Folded> folded_;                 ///< of a shared folder, by id
  mutable std::map<std::string, std::vector<Result>> results_;   ///< of trials that finished more than once
  mutable std::map<std::string, std::vector<Fault>> differing_;  ///< lines of those whose results differ
  mutable bool is_behind_ = false;                               ///< a fold ended with an error
  mutable std::atomic<double> folded_at_ = 0;                    ///< by steady_clock()
  mutable Database database_;            ///< of a shared folder: plan, notes and tags alone, in memory
  std::map<std::string, Sight> sights_;  ///< of heartbeats from the future, by trial
};

/// Says on standard error what of a store could not be read: a few faults, and how many there are.
void say_faults(const RunStore& store);

}  // namespace headroom::experiments
