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

/// Looks at a run once, as soon as every trial of one x of a series has ended, and says if no model has learned the
/// task by then (nothing_learned()): that is worth knowing long before the end.
class LearningWatch {
 public:
  LearningWatch(const Study& study, std::filesystem::path out);

  /// Makes watchers that pass everything on to those of `inner`, where there is one. They may outlive neither this
  /// object nor `inner`.
  WatchTrial around(const WatchTrial& inner);

 private:
  class OneTrial;
  /// A trial has ended, of whatever outcome. Throws nothing.
  void end(const TrialRecord& trial, const std::function<void(const std::string&)>& warn);

  const Study study_;
  const std::filesystem::path out_;
  std::mutex mutex_;
  std::map<std::pair<std::string, double>, std::set<std::string>> left_;  ///< (series, x) → trials that it lacks
  bool has_looked_ = false;
};

}  // namespace headroom::experiments
