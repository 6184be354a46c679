#include "experiments/studies/export/event_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "engine/error.h"
#include "experiments/output/file.h"
#include "experiments/output/text.h"
#include "experiments/studies/export/tensorboard.h"
#include "experiments/studies/run/store/owner.h"

namespace headroom::experiments {
namespace {

constexpr const char* event_file_start = "events.out.tfevents.";

/// The number of the last event file in a folder; 0 when there is none.
int64_t last_number(const std::filesystem::path& folder) {
  constexpr int64_t most = 9'999'999'998;  // what can be followed by a name that comes later
  int64_t last = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (const std::string name = entry->path().filename(); name.starts_with(event_file_start))
      last = std::max<int64_t>(last, std::strtoll(name.c_str() + std::strlen(event_file_start), nullptr, 10));
  return std::min(last, most);
}

}  // namespace

std::string scalar_record(const HistoryPoint& p, double wall_time) {
  return tfrecord(scalar_event(p.step, p.split + "/" + p.metric, static_cast<float>(p.value), wall_time));
}

std::string event_folder(const std::string& words, const std::string& id) {
  constexpr size_t longest = 200;  // all of a trial's words may be longer than a file's name
  return slug(words).substr(0, longest) + "-" + id.substr(0, 8);
}

EventFile::EventFile(const std::filesystem::path& folder) {
  make_folder(folder);
  // Readers take the files of a folder in the order of their names. Another process may make the same one.
  constexpr int most_tries = 100;
  for (int tries = 0; descriptor_ < 0 && tries < most_tries; ++tries) {
    path_ = folder / fmt::format("{}{:010}.headroom", event_file_start, last_number(folder) + 1);
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) break;
  }
  require(descriptor_ >= 0, "{}: cannot be made: {}", path_.string(), std::strerror(errno));
  head_ = tfrecord(version_event(wall_clock())) + tfrecord(start_event(0, wall_clock()));
}

EventFile::~EventFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

void EventFile::append(const std::string& more) {
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

}  // namespace headroom::experiments
