#pragma once
#include "models/cache_types.h"
#include "models/key_value_cache.h"

namespace headroom::models {

/// The cache of a whole model that generates: one KeyValueCache per layer and group of heads, all at one position.
/// Layers with a sliding window may forget what it hides: their memory then does not grow with the text.
/// Threads: one at a time; several caches may be decoded in parallel by one model.
class ModelCache {
 public:
  /// `rolls`: layers with a window forget. `types`: how keys and values are held (see KeyValueCache). Throws Error when
  /// the config is invalid, or when the blocks of a format do not fill the rows of some head.
  explicit ModelCache(const TransformerConfig& config, bool rolls = true, const CacheTypes& types = {});
  /// The same tokens, in memory of their own.
  ModelCache copy() const;

  /// Those of one layer's groups, in order. Throws Error when there is no such layer, as in a cache that was moved
  /// from.
  std::vector<KeyValueCache>& layer(size_t i);
  size_t layers() const { return layers_.size(); }
  /// The position of the next token.
  int64_t offset() const { return first().offset(); }
  /// Tokens that are held, by the layer that holds most.
  int64_t length() const;

  /// Tokens that every layer and group has memory for.
  int64_t capacity() const { return first().capacity(); }

  /// Tokens of the text that is being given in parts: rope frequencies that depend on a text's length are those of all
  /// of it. What goes on behind them counts as it comes.
  void expect(int64_t tokens) { text_length_ = tokens; }
  int64_t text_length() const { return text_length_; }

  /// As KeyValueCache's, on every layer and group.
  void reserve(int64_t tokens);
  void make_room(int64_t tokens);
  void advance();
  void truncate(int64_t offset);
  /// The oldest of length(): what a layer has forgotten already counts.
  void drop_first(int64_t tokens);
  void reset();

  /// Forgets the tokens that windows hide from all that is to come, where the cache rolls: whole blocks of 64, so that
  /// attention cuts what is left as it would cut all of it, and gives the same bits.
  void forget_hidden();
  /// Whether a text may go on behind its first `offset` tokens, which are held: no window has forgotten one that it
  /// shows there.
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
  std::vector<int64_t> windows_;  ///< of each layer; 0: it forgets nothing
  int64_t text_length_ = 0;
};

/// The tokens [begin, end) of an x (1, T, …) that holds those of several sequences.
struct SequenceRows {
  int64_t begin = 0, end = 0;
  ModelCache* state = nullptr;  ///< the tokens go on behind what it holds, and it gets them
  int64_t prefix = 0;           ///< without a state: they go on behind the first `prefix` tokens of x
};

/// Tokens of several sequences that go through a model as the rows of one x (1, T, …). Products take all rows; each
/// sequence attends to its own tokens alone.
struct SequenceTokens {
  /// Throws Error when rows are not in order and without gaps, or a prefix is not before its rows.
  SequenceTokens(std::vector<SequenceRows> rows, engine::Device device);

  std::vector<SequenceRows> rows;
  std::vector<int64_t> first;  ///< each one's first position: a state's offset grows while a model's layers run
  Tensor positions;            ///< i64 (T), on the device
  int64_t end = 0;             ///< they are below it
};

}  // namespace headroom::models
