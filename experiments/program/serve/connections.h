#pragma once
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <mutex>
#include <unordered_map>

namespace headroom::experiments {

/// The open connections of a server and their deadlines. The library's own timeout restarts with every byte, so a
/// client that sends one a second never meets it. Safe to call from several threads.
class Connections {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Phase { request, answer, stream };

  /// `most`: the maximum number of connections. `answer_patience`: from the end of a request to that of its answer.
  Connections(size_t most, std::chrono::seconds answer_patience) : most_(most), answer_patience_(answer_patience) {}

  void opened(int socket) {
    const std::lock_guard lock(mutex_);
    entries_[socket] = {Phase::request, Clock::now()};
  }
  /// Call before the socket is closed, while no other file can have its number.
  void closed(int socket) {
    const std::lock_guard lock(mutex_);
    entries_.erase(socket);
  }
  void enters(int socket, Phase phase) {
    const std::lock_guard lock(mutex_);
    if (const auto found = entries_.find(socket); found != entries_.end()) found->second = {phase, Clock::now()};
  }

  /// Shuts down late connections: incomplete requests, answers not read to the end. Patience is short when most places
  /// are taken.
  void cut_late(Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    const bool is_crowded = entries_.size() > most_ - most_ / 4;
    for (const auto& [socket, entry] : entries_) {
      if (entry.phase == Phase::stream) continue;
      const seconds patience = entry.phase == Phase::request
                                   ? (is_crowded ? crowded_request_patience : request_patience)
                                   : (is_crowded ? crowded_answer_patience : answer_patience_);
      // The library notices and closes it; only then is its number free again.
      if (now - entry.since > patience) shutdown(socket, SHUT_RDWR);
    }
  }

 private:
  using seconds = std::chrono::seconds;
  /// From the first byte to the last, or from the end of the answer before.
  static constexpr seconds request_patience{10};
  static constexpr seconds crowded_request_patience{1}, crowded_answer_patience{10};

  struct Entry {
    Phase phase;
    Clock::time_point since;
  };
  const size_t most_;
  const seconds answer_patience_;
  std::mutex mutex_;
  std::unordered_map<int, Entry> entries_;  ///< by socket
};

}  // namespace headroom::experiments
