#pragma once
#include "models/attention_state.h"
#include "models/config.h"

namespace headroom::models {

/// The state of a whole model that generates: one AttentionState per layer and group of heads, all at one position.
/// Threads: one at a time; several states may be decoded side by side by one model.
class DecodeState {
 public:
  /// Throws Error when the config is invalid.
  explicit DecodeState(const TransformerConfig& config);

  /// Those of one layer's groups, in order. Throws Error when there is no such layer, as in a state that was moved
  /// from.
  std::vector<AttentionState>& layer(size_t i);
  size_t layers() const { return layers_.size(); }
  /// The position of the next token.
  int64_t offset() const { return first().offset(); }
  /// Tokens that are held.
  int64_t length() const { return first().length(); }

  /// Tokens that every layer and group has memory for.
  int64_t capacity() const { return first().capacity(); }

  /// As AttentionState's, on every layer and group.
  void reserve(int64_t tokens);
  void make_room(int64_t tokens);
  void advance();
  void truncate(int64_t offset);
  void drop_first(int64_t tokens);
  void reset();

 private:
  template <class F>
  void each(const F& f) {
    for (std::vector<AttentionState>& layer : layers_)
      for (AttentionState& state : layer) f(state);
  }
  const AttentionState& first() const;

  std::vector<std::vector<AttentionState>> layers_;
};

}  // namespace headroom::models
