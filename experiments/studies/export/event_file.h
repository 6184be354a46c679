#pragma once
#include <filesystem>
#include <string>

#include "experiments/studies/results.h"

namespace headroom::experiments {

/// A point of a curve as a record of an event file: the scalar "SPLIT/METRIC".
std::string scalar_record(const HistoryPoint& point, double wall_time);

/// The folder of a trial's event files, under those of study and profile: its words with a part of the id, which keeps
/// apart what reads alike ("1e-3" and "1e3").
std::string event_folder(const std::string& words, const std::string& id);

/// An event file that grows. Each append() is written at once, whole or not at all, so that a reader that follows the
/// file never meets half a record.
class EventFile {
 public:
  /// Makes the folder and, in it, the next file: events.out.tfevents.0000000001.headroom, …2. Readers take it in place
  /// of all that older files of the folder hold. Throws Error naming what cannot be made.
  explicit EventFile(const std::filesystem::path& folder);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  /// Adds whole records. Throws Error naming the file; it is then as it was before.
  void append(const std::string& records);

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::string head_;  ///< the first records, until they are written
  int64_t size_ = 0;  ///< bytes of whole records
};

}  // namespace headroom::experiments
