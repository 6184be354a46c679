#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace headroom::experiments {

/// Holds the bodies of answers that are being sent: equal ones once, and all together within a bounded number of bytes.
/// Safe to call from several threads.
class AnswerBodies {
 public:
  using Body = std::shared_ptr<const std::string>;

  explicit AnswerBodies(size_t most_bytes) : state_(std::make_shared<State>()), most_bytes_(most_bytes) {}

  /// Returns the body to send, which counts until the last copy of the pointer is gone. Null if there is no room: a
  /// large body waits for others to be read. A single body always fits.
  Body hold(std::string body) {
    if (body.size() <= small_bytes) return std::make_shared<const std::string>(std::move(body));
    const std::lock_guard lock(state_->mutex);
    // A body that has just lost its last pointer, and waits for the lock to leave, is not found.
    const auto found = state_->held.find(body);
    if (found != state_->held.end())
      if (Body same = found->second.lock()) return same;
    if (state_->bytes > 0 && state_->bytes + body.size() > most_bytes_) return nullptr;
    auto own = std::make_unique<const std::string>(std::move(body));
    state_->bytes += own->size();
    const Body held(own.release(), [state = state_](const std::string* gone) {
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
  /// The number of connections bounds smaller bodies, so a page also shows while large answers are being sent.
  static constexpr size_t small_bytes = 32 << 10;

  struct State {
    std::recursive_mutex mutex;  ///< recursive: out of memory, a body may be freed while it is being added
    std::unordered_map<std::string_view, std::weak_ptr<const std::string>> held;
    size_t bytes = 0;
  };
  std::shared_ptr<State> state_;  ///< bodies may outlive the server for a moment
  const size_t most_bytes_;
};

}  // namespace headroom::experiments
