#pragma once
#include <set>

#include "models/config.h"
#include "tasks/measure/language_model.h"

namespace headroom::testing {

/// Texts [first, first + count) of a made-up language with `vocab` tokens, all of one length.
inline tasks::TokenBatch texts_of(int64_t count, int64_t first, int64_t length = 30, int64_t vocab = 37) {
  tasks::TokenBatch texts;
  for (int64_t t = first; t < first + count; ++t) {
    texts.emplace_back();
    for (int64_t i = 0; i < length; ++i) texts.back().push_back((i * i * (t + 2) + 5 * i + 11 * t) % vocab);
  }
  return texts;
}

inline std::set<int64_t> all_layers(const models::TransformerConfig& config) {
  std::set<int64_t> layers;
  for (int64_t layer = 0; layer < config.layers; ++layer) layers.insert(layer);
  return layers;
}

}  // namespace headroom::testing
