#pragma once
#include <optional>

#include "engine/ops/attention/attention.h"
#include "engine/ops/packed_rows/packed_rows.h"
#include "models/norm.h"

namespace headroom::models {

/// Factors for a head's keys, f32 (d) on their device, before a cache rounds them to blocks, and the inverse factors
/// for its queries: scores do not change. Undefined: 1.
struct KeyScales {
  Tensor keys, queries;
};

/// Scales that balance queries and keys, whose mean squares are taken as their norms' squared weights. Turned rows
/// spread a rounding error over a head's width, so the score error grows as (Σ q_i² / s_i²)(Σ k_i² s_i²), minimal for
/// s_i⁴ = q_i² / k_i². Gemma 3's keys are large where its queries are small. Rotary pairs (i, i + d/2; interleaved: 2i,
/// 2i + 1) share a mean square of at least 1e-4 of the mean.
KeyScales even_key_scales(const NormLayer& q_norm, const NormLayer& k_norm, bool interleaved);

/// A key-value cache: the keys and values one group of heads has seen so far. A new token costs one copy of its own
/// rows; older rows are neither moved nor read.
///
/// Memory grows in blocks of 64 tokens and at least doubles, so each token moves O(1) times in all; reserve() allocates
/// it in advance. The first append() fixes batch size, heads, widths, dtype and device. With formats for keys and
/// values (engine/ops/packed_rows/packed_rows.h), rows are turned, rounded and stored as bytes. Threads: one at a time.
class KeyValueCache {
 public:
  explicit KeyValueCache(std::optional<engine::BlockFormat> format = std::nullopt) : KeyValueCache(format, format) {}
  /// Throws Error if only one of the two is given.
  KeyValueCache(std::optional<engine::BlockFormat> keys, std::optional<engine::BlockFormat> values);
  // A copy would write its tokens into the same memory.
  KeyValueCache(KeyValueCache&& other) noexcept : KeyValueCache() { *this = std::move(other); }
  /// Leaves the other cache empty.
  KeyValueCache& operator=(KeyValueCache&& other) noexcept;
  /// A copy with its own memory.
  KeyValueCache copy() const;

  /// Appends T tokens to every sequence: k (B, T, H_kv, d_qk), v (B, T, H_kv, d_v); T may be 0. Throws Error naming the
  /// shapes if they do not match each other or the cache.
  void append(const Tensor& k, const Tensor& v);
  /// Sets factors for keys in a format and the queries that meet them. Throws Error unless the cache is empty.
  void scale(KeyScales scales);

  /// Allocates room for `tokens` more. Throws Error before the first append(), and after drop_first().
  void make_room(int64_t tokens);
  /// append() of one token whose index only the device knows: k (B, 1, H_kv, d_qk) and v (B, 1, H_kv, d_v) become token
  /// length[0] - 1, length i64 (1). Can be recorded: room must exist, and each replay must be followed by advance().
  void put(const Tensor& k, const Tensor& v, const Tensor& length);
  /// Counts one more token, written by put(). Throws Error if there is no room for it.
  void advance();

  /// Views of the cached rows: (B, length, H_kv, d_qk) and (B, length, H_kv, d_v), or their bytes in a format.
  /// Undefined before the first append(). A view survives later appends, until truncate() or reset() reuses its rows.
  Tensor keys() const { return held(keys_); }
  Tensor values() const { return held(values_); }
  /// True if rows are held in formats, not as plain numbers.
  bool is_packed() const { return key_format_.has_value(); }
  const std::optional<engine::BlockFormat>& key_format() const { return key_format_; }
  /// engine::attention() over the cache: q (B, T, H, d_qk) → (B, T, H, d_v). With `length`, i64 (1), over that many
  /// tokens of its memory, as put() leaves them.
  Tensor attention(const Tensor& q, const Tensor& slopes, const engine::AttentionOptions& options,
                   const Tensor& length = {}) const;

  /// Tokens held.
  int64_t length() const { return end_ - begin_; }
  /// The position of the next token in its sequence: length() plus the tokens drop_first() dropped.
  int64_t offset() const { return dropped_ + length(); }
  /// Tokens that fit the allocated memory.
  int64_t capacity() const { return keys_.defined() ? keys_.dim(1) : 0; }

  /// Asks for room for `tokens` tokens in all, allocated by the next append() at the latest.
  void reserve(int64_t tokens) { wanted_ = tokens; }
  /// Drops tokens from position `offset` on. Throws Error if they are no longer there.
  void truncate(int64_t offset);
  /// Drops the oldest `tokens`, as attention over a sliding window does; positions stay. Throws Error if there are
  /// fewer.
  void drop_first(int64_t tokens);
  /// Empties the cache and restarts at position 0; keeps the memory.
  void reset();

 private:
  Tensor held(const Tensor& cache) const { return cache.defined() ? cache.slice(1, begin_, end_) : Tensor(); }
  /// Makes room for `tokens` more with the shapes of k and v.
  void grow(int64_t tokens, const Tensor& k, const Tensor& v);

  std::optional<engine::BlockFormat> key_format_, value_format_;
  KeyScales scales_;
  Tensor keys_, values_;  ///< (B, capacity, H_kv, d), or the bytes of d numbers
  int64_t key_dim_ = 0, value_dim_ = 0;
  int64_t begin_ = 0, end_ = 0;  ///< the range of tokens held
  int64_t dropped_ = 0, wanted_ = 0;
};

}  // namespace headroom::models
