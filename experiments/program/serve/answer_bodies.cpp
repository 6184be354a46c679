#include "experiments/program/serve/answer_bodies.h"

#include <utility>

namespace headroom::experiments {
namespace {

/// Smaller ones are bounded by the number of connections: a page is shown also while large answers are on their way.
constexpr size_t small_bytes = 32 << 10;

}  // namespace

AnswerBodies::Body AnswerBodies::hold(std::string body) {
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

}  // namespace headroom::experiments
