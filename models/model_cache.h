#pragma once
#include "models/config.h"
#include "models/key_value_cache.h"

namespace headroom::models {

/// The cache of a whole model that generates: one KeyValueCache per layer and group of heads, all at one position.
/// Threads: one at a time; several caches may be decoded in parallel by one model.
class ModelCache {
 public:
  /// Throws Error when the config is invalid.
  explicit ModelCache(const TransformerConfig& config);

  /// Those of one layer's groups, in order. Throws Error when there is no such layer, as in a cache that was moved
  /// from.
  std::vector<KeyValueCache>& layer(size_t i);
  size_t layers() const { return layers_.size(); }
  /// The position of the next token.
  int64_t offset() const { return first().offset(); }
  /// Tokens that are held.
  int64_t length() const { return first().length(); }

  /// Tokens that every layer and group has memory for.
  int64_t capacity() const { return first().capacity(); }

  /// As KeyValueCache's, on every layer and group.
  void reserve(int64_t tokens);
  void make_room(int64_t tokens);
  void advance();
  void truncate(int64_t offset);
  void drop_first(int64_t tokens);
  void reset();

 private:
  template <class F>
  void each(const F& f) {
    for (std::vector<KeyValueCache>& layer : layers_)
      for (KeyValueCache& cache : layer) f(cache);
  }
  const KeyValueCache& first() const;

  std::vector<std::vector<KeyValueCache>> layers_;
};

}  // namespace headroom::models
