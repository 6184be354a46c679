#include "models/model_cache.h"

#include "engine/error.h"
#include "models/validate.h"

namespace headroom::models {

ModelCache::ModelCache(const TransformerConfig& config) {
  validate(config);
  for (const LayerConfig& layer : layers_of(config)) layers_.emplace_back(layer.groups.size());
}

std::vector<KeyValueCache>& ModelCache::layer(size_t i) {
  require(i < layers_.size(), "model cache: layer {} of {}", i, layers_.size());
  return layers_[i];
}

const KeyValueCache& ModelCache::first() const {
  require(!layers_.empty(), "model cache: it has no layers; was it moved from?");
  return layers_.front().front();
}

void ModelCache::reserve(int64_t tokens) {
  each([&](KeyValueCache& cache) { cache.reserve(tokens); });
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
  each([&](KeyValueCache& cache) { cache.drop_first(tokens); });
}
void ModelCache::reset() {
  each([](KeyValueCache& cache) { cache.reset(); });
}

}  // namespace headroom::models
