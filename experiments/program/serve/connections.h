#pragma once
#include <chrono>
#include <cstddef>
#include <mutex>
#include <unordered_map>

namespace headroom::experiments {

/// The open connections of a server, and how long each may still take. The library's own timeout counts from the last
/// byte, which a client that sends one a second never meets. Safe to call from several threads.
class Connections {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Phase { request, answer, stream };

  /// `most`: how many there may be.
  explicit Connections(size_t most) : most_(most) {}

  void opened(int socket);
  /// Called before the socket is closed, so that no other file has its number yet.
  void closed(int socket);
  void enters(int socket, Phase phase);

  /// Shuts down what is late: a request that is not whole, an answer that is not read to its end. When most places are
  /// taken, patience is short.
  void cut_late(Clock::time_point now);

 private:
  struct Entry {
    Phase phase;
    Clock::time_point since;
  };
  const size_t most_;
  std::mutex mutex_;
  std::unordered_map<int, Entry> entries_;  ///< by socket
};

}  // namespace headroom::experiments
