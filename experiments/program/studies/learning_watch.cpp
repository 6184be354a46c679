#include "experiments/program/studies/learning_watch.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <unordered_map>

#include "experiments/studies/pages/headline.h"
#include "experiments/studies/run/store.h"

namespace headroom::experiments {

/// Tells the watch of one trial's end.
class LearningWatch::OneTrial : public TrialWatcher {
 public:
  OneTrial(LearningWatch& watch, std::unique_ptr<TrialWatcher> inner, std::function<void(const std::string&)> warn)
      : watch_(watch), inner_(std::move(inner)), warn_(std::move(warn)) {}

  void curve(const std::vector<HistoryPoint>& so_far) override {
    if (inner_) inner_->curve(so_far);
  }

  void end(const TrialRecord& trial) override {
    if (inner_) inner_->end(trial);
    watch_.end(trial, warn_);
  }

 private:
  LearningWatch& watch_;
  std::unique_ptr<TrialWatcher> inner_;
  std::function<void(const std::string&)> warn_;
};

LearningWatch::LearningWatch(const Study& study, std::filesystem::path out) : study_(study), out_(std::move(out)) {
  const std::filesystem::path store = study_folder(study, out_) / "store.sqlite";
  std::unordered_map<std::string, RunStore::Known> known;
  if (RunStore::exists(store)) known = RunStore(store, RunStore::Access::read).known();
  for (const PlannedTrial& trial : study.trials) {
    const auto found = known.find(trial.id);
    if (found == known.end() || !found->second.is_finished) left_[{trial.series, trial.x}].insert(trial.id);
  }
}

WatchTrial LearningWatch::around(const WatchTrial& inner) {
  return [this, inner](const PlannedTrial& trial, const std::function<void(const std::string&)>& warn) {
    return std::make_unique<OneTrial>(*this, inner ? inner(trial, warn) : nullptr, warn);
  };
}

void LearningWatch::end(const TrialRecord& trial, const std::function<void(const std::string&)>& warn) {
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

}  // namespace headroom::experiments
