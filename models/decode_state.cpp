#include "models/decode_state.h"

#include "models/validate.h"

namespace headroom::models {

DecodeState::DecodeState(const TransformerConfig& config) {
  validate(config);
  for (const LayerConfig& layer : layers_of(config)) layers_.emplace_back(layer.groups.size());
}

void DecodeState::reserve(int64_t tokens) {
  each([&](AttentionState& state) { state.reserve(tokens); });
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
