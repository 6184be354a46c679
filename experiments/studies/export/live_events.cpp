#include "experiments/studies/export/live_events.h"

#include <fmt/format.h>

#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "engine/excerpt.h"
#include "experiments/output/file.h"
#include "experiments/studies/export/event_file.h"
#include "experiments/studies/run/store/owner.h"

namespace headroom::experiments {
namespace {

class EventWatcher : public TrialWatcher {
 public:
  using Warn = std::function<void(const std::string&)>;
  EventWatcher(std::filesystem::path folder, std::atomic<bool>& has_warned, Warn warn)
      : folder_(std::move(folder)), has_warned_(has_warned), warn_(std::move(warn)) {}

  void curve(const std::vector<HistoryPoint>& so_far) override {
    guarded([&] {
      if (!file_) file_.emplace(folder_);
      std::string records;
      for (size_t i = written_; i < so_far.size(); ++i) records += scalar_record(so_far[i], wall_clock());
      file_->append(records);
      written_ = so_far.size();
    });
  }

  void end(const TrialRecord& trial) override {
    curve(trial.history);
    guarded([&] {
      std::string records;
      for (const auto& [metric, value] : trial.test)
        records += scalar_record({trial.steps, "test", metric, value}, wall_clock());
      if (file_) file_->append(records);
    });
  }

 private:
  template <class F>
  void guarded(const F& f) {
    try {
      f();
    } catch (const std::exception& error) {
      if (!has_warned_.exchange(true))
        warn_(fmt::format("headroom: --tensorboard: {}; the training goes on", plain_words(error.what())));
    }
  }

  const std::filesystem::path folder_;
  std::atomic<bool>& has_warned_;
  const Warn warn_;
  std::optional<EventFile> file_;
  size_t written_ = 0;  ///< points of the curve
};

}  // namespace

LiveEvents::LiveEvents(const std::filesystem::path& folder, const std::string& study, const std::string& profile)
    : folder_(folder / study / profile) {
  make_folder(folder_);
}

std::unique_ptr<TrialWatcher> LiveEvents::watch(const PlannedTrial& trial,
                                                const std::function<void(const std::string&)>& warn) {
  return std::make_unique<EventWatcher>(folder_ / event_folder(trial.series + " " + trial.label, trial.id), has_warned_,
                                        warn);
}

}  // namespace headroom::experiments
