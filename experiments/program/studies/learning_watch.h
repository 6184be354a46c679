#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "experiments/studies/config/study.h"
#include "experiments/studies/run/runner.h"

namespace headroom::experiments {

/// Checks a run once, as soon as all trials at one x of a series have ended, and warns if no model has learned the task
/// by then (nothing_learned()): worth knowing long before the end.
class LearningWatch {
 public:
  LearningWatch(const Study& study, std::filesystem::path out);

  /// Makes watchers that also notify those of `inner`, if given. They may outlive neither this object nor `inner`.
  WatchTrial around(const WatchTrial& inner);

 private:
  class OneTrial;
  /// Handles the end of a trial, whatever its outcome. Throws nothing.
  void end(const TrialRecord& trial, const std::function<void(const std::string&)>& warn);

  const Study study_;
  const std::filesystem::path out_;
  std::mutex mutex_;
  std::map<std::pair<std::string, double>, std::set<std::string>> left_;  ///< (series, x) → its missing trials
  bool has_looked_ = false;
};

}  // namespace headroom::experiments
