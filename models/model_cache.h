#pragma once
#include "models/cache_types.h"
#include "models/key_value_cache.h"

namespace headroom::models {

/// The cache of a whole generating model: one KeyValueCache per layer and group of heads, all at one position. Layers
/// with a sliding window may drop hidden tokens: their memory then does not grow with the text. Threads: one at a time;
/// one model may decode several caches in parallel.
class ModelCache {
 public:
  /// `rolls`: layers with a window drop hidden tokens. `types`: formats of keys and values (see KeyValueCache). Throws
  /// Error if the config is invalid, or if some head's rows are not whole blocks of a format.
  explicit ModelCache(const TransformerConfig& config, bool rolls = true, const CacheTypes& types = {});
  /// A copy with its own memory.
  ModelCache copy() const;

  /// The caches of one layer's groups, in order. Throws Error if there is no such layer, as in a moved-from cache.
  std::vector<KeyValueCache>& layer(size_t i);
  size_t layers() const { return layers_.size(); }
  /// The position of the next token.
  int64_t offset() const { return first().offset(); }
  /// Tokens held by the layer that holds most.
  int64_t length() const;

  /// Tokens that fit the memory of every layer and group.
  int64_t capacity() const { return first().capacity(); }

  /// Announces the length of a text given in parts: rope frequencies that depend on a text's length use it from the
  /// start. Later tokens count as they come.
  void expect(int64_t tokens) { text_length_ = tokens; }
  int64_t text_length() const { return text_length_; }

  /// As KeyValueCache's, on every layer and group.
  void reserve(int64_t tokens);
  void make_room(int64_t tokens);
  void advance();
  void truncate(int64_t offset);
  /// Drops the oldest of length() tokens; those a layer has already dropped count.
  void drop_first(int64_t tokens);
  void reset();

  /// Drops the tokens that windows hide from all later ones, if the cache rolls: whole blocks of 64, so that attention
  /// splits the rest as before and gives the same bits.
  void forget_hidden();
  /// True if a text may continue from its first `offset` tokens, all held: no window has dropped a token it shows
  /// there.
  bool can_go_back(int64_t offset) const;

 private:
  ModelCache() = default;

  template <class F>
  void each(const F& f) {
    for (std::vector<KeyValueCache>& layer : layers_)
      for (KeyValueCache& cache : layer) f(cache);
  }
  const KeyValueCache& first() const;

  std::vector<std::vector<KeyValueCache>> layers_;
  std::vector<int64_t> windows_;  ///< of each layer; 0: it drops nothing
  int64_t text_length_ = 0;
};

/// A sequence's tokens: rows [begin, end) of an x (1, T, …) that holds several sequences.
struct SequenceRows {
  int64_t begin = 0, end = 0;
  ModelCache* state = nullptr;  ///< the cache that the tokens continue and are added to
  int64_t prefix = 0;           ///< without a state: they continue the first `prefix` tokens of x
};

/// Tokens of several sequences that pass through a model as rows of one x (1, T, …). Products take all rows; each
/// sequence attends only to its own tokens.
struct SequenceTokens {
  /// Throws Error if rows are out of order or have gaps, or if a prefix does not end before its rows.
  SequenceTokens(std::vector<SequenceRows> rows, engine::Device device);

  std::vector<SequenceRows> rows;
  std::vector<int64_t> first;  ///< first positions; fixed here, since a state's offset grows while layers run
  Tensor positions;            ///< i64 (T), on the device
  int64_t end = 0;             ///< upper bound of the positions
};

}  // namespace headroom::models
