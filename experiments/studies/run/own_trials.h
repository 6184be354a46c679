#pragma once
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "experiments/studies/run/store.h"
#include "models/safetensors/safetensors.h"

namespace headroom::experiments {

/// Renews this process's leases in a store every few seconds, on a thread of its own, with each trial's progress.
class LeaseKeeper {
 public:
  explicit LeaseKeeper(RunStore& store);
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  const Owner& owner() const { return owner_; }
  /// Records a trial's progress. False if the latest renewal found that another process holds the lease.
  bool update(const std::string& trial, int64_t step, int64_t steps, double loss);

  /// Keeps one trial's lease for its lifetime, then gives it back if it still exists.
  class Hold {
   public:
    Hold(LeaseKeeper& keeper, std::string trial);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    LeaseKeeper& keeper_;
    std::string trial_;
  };

 private:
  void renew_until_stopped();

  RunStore& store_;
  const Owner owner_ = this_process();
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_stopped_ = false;
  std::map<std::string, Lease> held_;
  std::set<std::string> lost_;  ///< of held_
  std::thread thread_;
};

/// The state of a trial's weights file.
enum class KeptWeights {
  sound,    ///< match its row
  missing,  ///< no file
  changed   ///< other weights, or damaged ones
};

/// The files of a study's trials that this process trains: checkpoints, weights, stages. Checkpoints and weights are
/// written under a name of this process's own, `ID.OWNER.staged`, and take their final name in a transaction of the
/// store in which the trial's lease is this process's: one that was stopped for longer than its lease changes nothing
/// of what another has made since.
class OwnedFiles {
 public:
  /// `store` must outlive this object.
  OwnedFiles(std::filesystem::path folder, RunStore& store, const Owner& owner);

  std::filesystem::path checkpoint(const std::string& id) const;
  /// The folder for formulas' stages: one for each instruction set, since their bits differ.
  std::filesystem::path stages() const;

  /// Compares a trial's weights with the checksum in its row, reading all bytes.
  KeptWeights look_at_weights(const std::string& id, const std::string& checksum) const;

  /// Makes the folder of checkpoints, and removes this trial's files left by killed processes.
  void prepare(const std::string& id);
  /// Calls `write` to write a checkpoint to the given path, and puts it in place. False if another process now owns the
  /// trial.
  bool keep_checkpoint(const std::string& id, const std::function<void(const std::filesystem::path&)>& write);
  /// Writes the weights of a trial that has ended, and keeps both: the row and they appear together. False when the
  /// trial is another process's now. Sets `trial.weights`.
  bool keep_outcome(TrialRecord& trial, const models::NamedTensors& weights);

  /// Removes files that killed processes left of trials nobody trains, and the folder of checkpoints if it is empty.
  void tidy();

 private:
  std::filesystem::path weights(const std::string& id) const;
  std::filesystem::path staged(const std::filesystem::path& file) const;

  const std::filesystem::path folder_;
  RunStore& store_;
  const Owner owner_;
};

}  // namespace headroom::experiments
