#include "models/decode_state.h"

#include "engine/error.h"
#include "models/validate.h"

namespace headroom::models {

DecodeState::DecodeState(const TransformerConfig& config) {
  validate(config);
  for (const LayerConfig& layer : layers_of(config)) layers_.emplace_back(layer.groups.size());
}

std::vector<AttentionState>& DecodeState::layer(size_t i) {
  require(i < layers_.size(), "decode state: layer {} of {}", i, layers_.size());
  return layers_[i];
}

const AttentionState& DecodeState::first() const {
  require(!layers_.empty(), "decode state: it has no layers; was it moved from?");
  return layers_.front().front();
}

void DecodeState::reserve(int64_t tokens) {
  each([&](AttentionState& state) { state.reserve(tokens); });
}
void DecodeState::make_room(int64_t tokens) {
  each([&](AttentionState& state) { state.make_room(tokens); });
}
void DecodeState::advance() {
  each([](AttentionState& state) { state.advance(); });
}
void DecodeState::truncate(int64_t offset) {
  each([&](AttentionState& state) { state.truncate(offset); });
}
void DecodeState::drop_first(int64_t tokens) {
  each([&](AttentionState& state) { state.drop_first(tokens); });
}
void DecodeState::reset() {
  each([](AttentionState& state) { state.reset(); });
}

}  // namespace headroom::models
