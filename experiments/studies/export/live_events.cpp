#include "experiments/studies/export/live_events.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "engine/read_number.h"
#include "experiments/output/file.h"
#include "experiments/studies/export/tensorboard.h"
#include "experiments/studies/run/store/owner.h"
#include "models/files/entries_of.h"

namespace headroom::experiments {
namespace {

constexpr const char* event_file_start = "events.out.tfevents.";

/// The number of the last event file in a folder; 0 when there is none.
int64_t last_number(const std::filesystem::path& folder) {
  constexpr int64_t most = 9'999'999'998;  // what can be followed by a name that comes later
  int64_t last = 0;
  for (const std::filesystem::path& file : models::entries_if_any(folder))
    if (std::string name = file.filename(); name.starts_with(event_file_start)) {
      name.erase(0, std::strlen(event_file_start));
      const std::string number = name.substr(0, name.find('.'));
      const bool is_number = !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
      if (is_number) last = std::max(last, read_number<int64_t>(number).value_or(most));
    }
  return std::min(last, most);
}

/// An event file that grows. Each append() is written at once, whole or not at all, so that a reader that follows the
/// file never meets half a record.
class EventFile {
 public:
  /// Makes the folder and, in it, the next file: events.out.tfevents.0000000001.headroom, …2. Readers take it in place
  /// of all that older files of the folder hold. Throws Error naming what cannot be made.
  explicit EventFile(const std::filesystem::path& folder) {
    make_folder(folder);
    // Readers take the files of a folder in the order of their names. Another process may make the same one.
    constexpr int most_tries = 100;
    for (int tries = 0; descriptor_ < 0 && tries < most_tries; ++tries) {
      path_ = folder / fmt::format("{}{:010}.headroom", event_file_start, last_number(folder) + 1);
      descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
      if (descriptor_ < 0 && errno != EEXIST) break;
    }
    require(descriptor_ >= 0, "{}: cannot be made: {}", path_.string(), std::strerror(errno));
    head_ = version_record(wall_clock()) + start_record(wall_clock());
  }
  ~EventFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  /// Adds whole records. Throws Error naming the file; it is then as it was before.
  void append(const std::string& more) {
    const std::string records = head_ + more;
    for (size_t done = 0; done < records.size();) {
      const ssize_t written = write(descriptor_, records.data() + done, records.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {
        const int problem = errno;
        // What cannot be taken back is cut off at the next attempt, or read as the end of the file.
        if (ftruncate(descriptor_, size_) != 0) errno = problem;
        fail("{}: cannot be written: {}", path_.string(), std::strerror(problem));
      }
      done += static_cast<size_t>(written);
    }
    size_ += static_cast<int64_t>(records.size());
    head_.clear();
  }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::string head_;  ///< the first records, until they are written
  int64_t size_ = 0;  ///< bytes of whole records
};

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
