#include "experiments/program/studies/learning_watch.h"

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "experiments/studies/pages/headline.h"
#include "experiments/studies/run/store.h"

namespace headroom::experiments {
namespace {

using Warn = std::function<void(const std::string&)>;

/// What all trials' watchers know together.
class LearningWatch {
 public:
  LearningWatch(const Study& study, const std::filesystem::path& out) : study_(study), out_(out) {
    const std::filesystem::path store = study_folder(study, out) / "store.sqlite";
    std::unordered_map<std::string, RunStore::Known> known;
    if (RunStore::exists(store)) known = RunStore(store, RunStore::Access::read).known();
    for (const PlannedTrial& trial : study.trials) {
      const auto found = known.find(trial.id);
      if (found == known.end() || !found->second.is_finished) left_[{trial.series, trial.x}].insert(trial.id);
    }
  }

  /// Handles the end of a trial, whatever its outcome. Throws nothing.
  void end(const TrialRecord& trial, const Warn& warn) {
    const std::lock_guard lock(mutex_);
    if (has_looked_) return;
    for (auto& [place, ids] : left_) has_looked_ = (ids.erase(trial.id) > 0 && ids.empty()) || has_looked_;
    const bool is_last = std::all_of(left_.begin(), left_.end(), [](const auto& one) { return one.second.empty(); });
    if (!has_looked_ || is_last) return;  // after the last one the report says it
    try {
      const Analysis results = analyse(collect_results(study_, out_));
      if (const std::string none = nothing_learned(results); !none.empty()) warn("headroom: " + none);
    } catch (const std::exception&) {
      return;  // the report complains of results that cannot be told yet, such as a metric that a trial lacks
    }
  }

 private:
  const Study study_;
  const std::filesystem::path out_;
  std::mutex mutex_;
  std::map<std::pair<std::string, double>, std::set<std::string>> left_;  ///< (series, x) → its missing trials
  bool has_looked_ = false;
};

/// Tells the watch of one trial's end.
struct OneTrial final : TrialWatcher {
  std::shared_ptr<LearningWatch> watch;
  std::unique_ptr<TrialWatcher> inner;
  Warn warn;
  OneTrial(std::shared_ptr<LearningWatch> all, std::unique_ptr<TrialWatcher> own, Warn says)
      : watch(std::move(all)), inner(std::move(own)), warn(std::move(says)) {}

  void curve(const std::vector<HistoryPoint>& so_far) override {
    if (inner) inner->curve(so_far);
  }
  void end(const TrialRecord& trial) override {
    if (inner) inner->end(trial);
    watch->end(trial, warn);
  }
};

}  // namespace

WatchTrial with_learning_watch(const Study& study, const std::filesystem::path& out, WatchTrial inner) {
  return [watch = std::make_shared<LearningWatch>(study, out), inner = std::move(inner)](const PlannedTrial& trial,
                                                                                         const Warn& warn) {
    return std::make_unique<OneTrial>(watch, inner ? inner(trial, warn) : nullptr, warn);
  };
}

}  // namespace headroom::experiments
