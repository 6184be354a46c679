#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace headroom::experiments {

/// The bodies of answers that are being sent: equal ones are held once, and all together take a bounded number of
/// bytes. Safe to call from several threads.
class AnswerBodies {
 public:
  using Body = std::shared_ptr<const std::string>;

  explicit AnswerBodies(size_t most_bytes) : state_(std::make_shared<State>()), most_bytes_(most_bytes) {}

  /// The body to send, which counts until the last copy of the pointer has gone. Null when there is no room for it: a
  /// large one waits for others to be read. One alone always has room.
  Body hold(std::string body);

 private:
  struct State {
    std::recursive_mutex mutex;  ///< where memory ends, a body goes while it is being added
    std::unordered_map<std::string_view, std::weak_ptr<const std::string>> held;
    size_t bytes = 0;
  };
  std::shared_ptr<State> state_;  ///< bodies may outlive the server for a moment
  const size_t most_bytes_;
};

}  // namespace headroom::experiments
