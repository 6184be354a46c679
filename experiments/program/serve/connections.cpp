#include "experiments/program/serve/connections.h"

#include <sys/socket.h>

namespace headroom::experiments {
namespace {

using std::chrono::seconds;

/// From the first byte to the last, or from the end of the answer before.
constexpr seconds request_patience{10}, answer_patience{600};
constexpr seconds crowded_request_patience{1}, crowded_answer_patience{10};

}  // namespace

void Connections::opened(int socket) {
  const std::lock_guard lock(mutex_);
  entries_[socket] = {Phase::request, Clock::now()};
}

void Connections::closed(int socket) {
  const std::lock_guard lock(mutex_);
  entries_.erase(socket);
}

void Connections::enters(int socket, Phase phase) {
  const std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(socket); found != entries_.end()) found->second = {phase, Clock::now()};
}

void Connections::cut_late(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const bool is_crowded = entries_.size() > most_ - most_ / 4;
  for (const auto& [socket, entry] : entries_) {
    if (entry.phase == Phase::stream) continue;
    const seconds patience = entry.phase == Phase::request ? (is_crowded ? crowded_request_patience : request_patience)
                                                           : (is_crowded ? crowded_answer_patience : answer_patience);
    // The library notices and closes it: only there is its number free for another.
    if (now - entry.since > patience) shutdown(socket, SHUT_RDWR);
  }
}

}  // namespace headroom::experiments
