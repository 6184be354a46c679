#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "experiments/studies/run/store.h"
#include "models/safetensors/safetensors.h"

namespace headroom::experiments {

/// What lies under the name of a trial's weights.
enum class KeptWeights {
  sound,    ///< those of its row
  missing,  ///< nothing
  changed   ///< others, or bytes that have changed
};

/// The files of a study's trials that this process trains: checkpoints, weights, stages. Checkpoints and weights are
/// written under a name of this process's own, `ID.OWNER.staged`, and take their final name in a transaction of the
/// store in which the trial's lease is this process's: one that was stopped for longer than its lease changes nothing
/// of what another has made since.
class OwnedFiles {
 public:
  /// `store` must outlive this.
  OwnedFiles(std::filesystem::path folder, RunStore& store, const Owner& owner);

  std::filesystem::path checkpoint(const std::string& id) const;
  /// Of formulas. Those of one instruction set, since another's bits differ.
  std::filesystem::path stages() const;

  /// Compares a trial's weights with the checksum of its row; all bytes are read.
  KeptWeights look_at_weights(const std::string& id, const std::string& checksum) const;

  /// Makes the folder of checkpoints, and removes what killed processes left of this trial's.
  void prepare(const std::string& id);
  /// Has `write` write a checkpoint to the path that it is given, and puts it in place. False when the trial is another
  /// process's now.
  bool keep_checkpoint(const std::string& id, const std::function<void(const std::filesystem::path&)>& write);
  /// Writes the weights of a trial that has ended, and keeps both: the row and they appear together. False when the
  /// trial is another process's now. Sets `trial.weights`.
  bool keep_outcome(TrialRecord& trial, const models::NamedTensors& weights);

  /// Removes what killed processes left of trials that nobody trains, and the folder of checkpoints once it is empty.
  void tidy();

 private:
  std::filesystem::path weights(const std::string& id) const;
  std::filesystem::path staged(const std::filesystem::path& file) const;

  const std::filesystem::path folder_;
  RunStore& store_;
  const Owner owner_;
};

}  // namespace headroom::experiments
