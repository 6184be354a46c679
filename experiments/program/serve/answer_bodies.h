#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace headroom::experiments {

/// The bodies of answers that are being sent: equal ones are held once, and all together take a bounded number of
/// bytes. Safe to call from several threads.
class AnswerBodies {
 public:
  using Body = std::shared_ptr<const std::string>;

  explicit AnswerBodies(size_t most_bytes) : state_(std::make_shared<State>()), most_bytes_(most_bytes) {}

  /// The body to send, which counts until the last copy of the pointer has gone. Null when there is no room for it: a
  /// large one waits for others to be read. One alone always has room.
  Body hold(std::string body) {
    if (body.size() <= small_bytes) return std::make_shared<const std::string>(std::move(body));
    const std::lock_guard lock(state_->mutex);
    // One that has just lost its last pointer, and waits for the lock to leave, is not found.
    const auto found = state_->held.find(body);
    if (found != state_->held.end())
      if (Body same = found->second.lock()) return same;
    if (state_->bytes > 0 && state_->bytes + body.size() > most_bytes_) return nullptr;
    state_->bytes += body.size();
    const Body held(new std::string(std::move(body)), [state = state_](const std::string* gone) {
      {
        const std::lock_guard leaving(state->mutex);
        state->bytes -= gone->size();
        const auto entry = state->held.find(*gone);
        if (entry != state->held.end() && entry->first.data() == gone->data()) state->held.erase(entry);
      }
      delete gone;
    });
    if (found != state_->held.end()) state_->held.erase(found);
    state_->held.emplace(*held, held);
    return held;
  }

 private:
  /// Smaller ones are bounded by the number of connections: a page is shown also while large answers are on their way.
  static constexpr size_t small_bytes = 32 << 10;

  struct State {
    std::recursive_mutex mutex;  ///< where memory ends, a body goes while it is being added
    std::unordered_map<std::string_view, std::weak_ptr<const std::string>> held;
    size_t bytes = 0;
  };
  std::shared_ptr<State> state_;  ///< bodies may outlive the server for a moment
  const size_t most_bytes_;
};

}  // namespace headroom::experiments
