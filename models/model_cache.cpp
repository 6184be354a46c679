#include "models/model_cache.h"

#include <algorithm>
#include <utility>

#include "engine/error.h"
#include "models/validate.h"

namespace headroom::models {

ModelCache::ModelCache(const TransformerConfig& config, bool rolls, const CacheTypes& types) {
  validate(config);
  for (const LayerConfig& layer : layers_of(config)) {
    std::vector<KeyValueCache>& own = layers_.emplace_back();
    for (const HeadGroup& group : layer.groups) {
      const auto keys = types.keys(group), values = types.values(group);
      if (keys) engine::packed_bytes(*keys, group.key_dim());
      if (values) engine::packed_bytes(*values, group.v_dim);
      own.emplace_back(keys, values);
    }
  }
  for (int64_t i = 0; i < config.layers; ++i) windows_.push_back(rolls ? window_of(config, i) : 0);
}

ModelCache ModelCache::copy() const {
  ModelCache out;
  out.windows_ = windows_, out.text_length_ = text_length_;
  for (const std::vector<KeyValueCache>& layer : layers_) {
    std::vector<KeyValueCache>& own = out.layers_.emplace_back();
    for (const KeyValueCache& cache : layer) own.push_back(cache.copy());
  }
  return out;
}

std::vector<KeyValueCache>& ModelCache::layer(size_t i) {
  require(i < layers_.size(), "model cache: layer {} of {}", i, layers_.size());
  return layers_[i];
}

const KeyValueCache& ModelCache::first() const {
  for (const std::vector<KeyValueCache>& layer : layers_)
    if (!layer.empty()) return layer.front();
  fail("model cache: it has no layers; was it moved from?");
}

void ModelCache::reserve(int64_t tokens) {
  constexpr int64_t at_once = 512;  // tokens of a prompt, in addition to the window
  for (size_t i = 0; i < layers_.size(); ++i)
    for (KeyValueCache& cache : layers_[i])
      cache.reserve(windows_[i] > 0 ? std::min(tokens, windows_[i] + at_once) : tokens);
}
void ModelCache::make_room(int64_t tokens) {
  each([&](KeyValueCache& cache) { cache.make_room(tokens); });
}
void ModelCache::advance() {
  each([](KeyValueCache& cache) { cache.advance(); });
}
void ModelCache::truncate(int64_t offset) {
  each([&](KeyValueCache& cache) { cache.truncate(offset); });
}
void ModelCache::drop_first(int64_t tokens) {
  const int64_t held = length();
  each([&](KeyValueCache& cache) { cache.drop_first(std::max<int64_t>(0, tokens - (held - cache.length()))); });
}
int64_t ModelCache::length() const {
  int64_t most = first().length();
  for (const std::vector<KeyValueCache>& layer : layers_)
    if (!layer.empty()) most = std::max(most, layer.front().length());
  return most;
}

void ModelCache::forget_hidden() {
  constexpr int64_t block = 64;  // a tile of keys in attention's kernels
  for (size_t i = 0; i < layers_.size(); ++i)
    for (KeyValueCache& cache : layers_[i])
      if (windows_[i] > 0) cache.drop_first(std::max<int64_t>(0, cache.length() - windows_[i] + 1) / block * block);
}

bool ModelCache::can_go_back(int64_t offset) const {
  for (size_t i = 0; i < layers_.size(); ++i)
    for (const KeyValueCache& cache : layers_[i]) {
      const int64_t dropped = cache.offset() - cache.length();
      if (dropped > 0 && dropped > offset - windows_[i] + 1) return false;
    }
  return true;
}

void ModelCache::reset() {
  each([](KeyValueCache& cache) { cache.reset(); });
}

SequenceTokens::SequenceTokens(std::vector<SequenceRows> given, engine::Device device) : rows(std::move(given)) {
  std::vector<int64_t> at;
  for (const SequenceRows& own : rows) {
    require(own.begin == static_cast<int64_t>(at.size()) && own.begin < own.end && own.prefix <= own.begin,
            "sequences: rows [{}, {}) behind a prefix of {} do not follow {} rows", own.begin, own.end, own.prefix,
            at.size());
    first.push_back(own.state ? own.state->offset() : own.prefix);
    for (int64_t i = own.begin; i < own.end; ++i) at.push_back(first.back() + i - own.begin);
    end = std::max(end, at.back() + 1);
  }
  positions = Tensor::from({static_cast<int64_t>(at.size())}, at).to(device);  // (T)
}

}  // namespace headroom::models
