#pragma once
#include <optional>

#include "engine/ops/attention/attention.h"
#include "engine/quantized/packed_rows.h"
#include "models/key_scales.h"

namespace headroom::models {

/// The keys and values of one group of heads that attention has seen so far: a key-value cache. A new token costs one
/// copy of its own rows; what is there already is neither moved nor read.
///
/// Memory grows in blocks of 64 tokens, and at least doubles, so that each token is moved O(1) times in all;
/// reserve() asks for it beforehand. The first append() settles batch size, heads, widths, dtype and device. With
/// formats (engine/quantized/packed_rows.h), one of keys and one of values, rows are turned and rounded to them and
/// take their bytes. Threads: one at a time.
class KeyValueCache {
 public:
  explicit KeyValueCache(std::optional<engine::BlockFormat> format = std::nullopt) : KeyValueCache(format, format) {}
  /// Throws Error where one is given and the other is not.
  KeyValueCache(std::optional<engine::BlockFormat> keys, std::optional<engine::BlockFormat> values);
  // A copy would write its tokens into the same memory.
  KeyValueCache(KeyValueCache&& other) noexcept : KeyValueCache() { *this = std::move(other); }
  /// Leaves the other one empty.
  KeyValueCache& operator=(KeyValueCache&& other) noexcept;
  /// The same tokens, in memory of their own.
  KeyValueCache copy() const;

  /// k (B, T, H_kv, d_qk), v (B, T, H_kv, d_v): T further tokens of every sequence; 0 is allowed. Throws Error naming
  /// the shapes when they do not fit each other or what is there.
  void append(const Tensor& k, const Tensor& v);
  /// What keys in a format are multiplied by from now on, and queries that meet them. Throws Error unless it is empty.
  void scale(KeyScales scales);

  /// Memory for `tokens` more, taken now. Throws Error before the first append(), and after drop_first().
  void make_room(int64_t tokens);
  /// append() of one token where only the device knows which one it is: k (B, 1, H_kv, d_qk) and v (B, 1, H_kv, d_v)
  /// become its token length[0] - 1, length i64 (1). Can be recorded: the memory must be there, and whoever replays it
  /// counts its tokens by advance().
  void put(const Tensor& k, const Tensor& v, const Tensor& length);
  /// One more token is there, which put() has written. Throws Error where there is no memory for it.
  void advance();
  /// The memory itself: (B, capacity, H_kv, d_qk) and (B, capacity, H_kv, d_v).
  const Tensor& key_memory() const { return keys_; }
  const Tensor& value_memory() const { return values_; }

  /// Views of what is there: (B, length, H_kv, d_qk) and (B, length, H_kv, d_v), with a format their bytes. Undefined
  /// before the first append(). A view stays valid when more is appended, until truncate() or reset() gives its rows to
  /// other tokens.
  Tensor keys() const { return held(keys_); }
  Tensor values() const { return held(values_); }
  /// Whether rows are held in formats, not as the numbers that they are.
  bool is_packed() const { return key_format_.has_value(); }
  const std::optional<engine::BlockFormat>& key_format() const { return key_format_; }
  /// engine::attention() over what is held: q (B, T, H, d_qk) → (B, T, H, d_v).
  Tensor attention(const Tensor& q, const Tensor& slopes, const engine::AttentionOptions& options) const;

  /// Tokens that are held.
  int64_t length() const { return end_ - begin_; }
  /// The position of the next token in its sequence: length(), and those that drop_first() dropped.
  int64_t offset() const { return dropped_ + length(); }
  /// Tokens that memory is there for.
  int64_t capacity() const { return keys_.defined() ? keys_.dim(1) : 0; }

  /// Memory for `tokens` tokens in all, taken at the next append() at the latest.
  void reserve(int64_t tokens) { wanted_ = tokens; }
  /// Keeps positions below `offset`: takes back the last tokens. Throws Error when they are not there.
  void truncate(int64_t offset);
  /// Forgets the oldest `tokens`, as attention over a sliding window does; positions stay. Throws Error when there are
  /// fewer.
  void drop_first(int64_t tokens);
  /// Empty again, at position 0; the memory stays.
  void reset();

 private:
  Tensor held(const Tensor& cache) const { return cache.defined() ? cache.slice(1, begin_, end_) : Tensor(); }
  /// Memory for `tokens` more of the shapes of k and v.
  void grow(int64_t tokens, const Tensor& k, const Tensor& v);

  std::optional<engine::BlockFormat> key_format_, value_format_;
  KeyScales scales_;
  Tensor keys_, values_;  ///< (B, capacity, H_kv, d), or the bytes of d numbers
  int64_t key_dim_ = 0, value_dim_ = 0;
  int64_t begin_ = 0, end_ = 0;  ///< what is held, along the tokens
  int64_t dropped_ = 0, wanted_ = 0;
};

}  // namespace headroom::models
