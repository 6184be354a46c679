#pragma once
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "experiments/studies/run/runner.h"

namespace headroom::experiments {

/// Event files of trials while they train: FOLDER/STUDY/PROFILE/TRIAL/events.out.tfevents.N.headroom, with the scalars
/// of export_tensorboard() and the times at which they were written. Whenever a process takes a trial up, it begins
/// the next file of the trial's folder with the whole curve so far, and tells readers to forget what older files have:
/// the last file is complete by itself, and no step counts twice, wherever the earlier process was stopped.
class LiveEvents {
 public:
  /// Makes the folder. Throws Error when that cannot be done.
  LiveEvents(const std::filesystem::path& folder, const std::string& study, const std::string& profile);

  /// What writes one trial's files. It throws nothing: a file that cannot be written is told to `warn`, once for all
  /// trials, and what is missing is written as soon as that is possible.
  std::unique_ptr<TrialWatcher> watch(const PlannedTrial& trial, const std::function<void(const std::string&)>& warn);

 private:
  const std::filesystem::path folder_;
  std::atomic<bool> has_warned_{false};
};

}  // namespace headroom::experiments
