#pragma once
#include "models/attention_state.h"
#include "models/config.h"

namespace headroom::models {

/// The state of a whole model that generates: one AttentionState per layer and group of heads, all at one position.
class DecodeState {
 public:
  /// Throws Error when the config is invalid.
  explicit DecodeState(const TransformerConfig& config);

  /// Those of one layer's groups, in order.
  std::vector<AttentionState>& layer(size_t i) { return layers_[i]; }
  size_t layers() const { return layers_.size(); }
  /// The position of the next token.
  int64_t offset() const { return layers_.front().front().offset(); }
  /// Tokens that are held.
  int64_t length() const { return layers_.front().front().length(); }

  /// As AttentionState's, on every layer and group.
  void reserve(int64_t tokens);
  void truncate(int64_t offset);
  void drop_first(int64_t tokens);
  void reset();

 private:
  template <class F>
  void each(const F& f) {
    for (std::vector<AttentionState>& layer : layers_)
      for (AttentionState& state : layer) f(state);
  }
  std::vector<std::vector<AttentionState>> layers_;
};

}  // namespace headroom::models
