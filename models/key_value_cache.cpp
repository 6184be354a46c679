#include "models/key_value_cache.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/decoding/token_state.h"
#include "engine/error.h"
#include "engine/ops/attention/cached_attention.h"
#include "engine/ops/attention/packed_attention.h"

namespace headroom::models {
namespace {

constexpr int64_t block = 64;  // tokens

/// True if `added` (B, T, H, d) can be appended to `cache` (B, capacity, H, d).
bool fits(const Tensor& cache, const Tensor& added) {
  return !cache.defined() ||
         (cache.dim(0) == added.dim(0) && cache.dim(2) == added.dim(2) && cache.dim(3) == added.dim(3) &&
          cache.dtype() == added.dtype() && cache.device() == added.device());
}

Tensor packed(const Tensor& x, std::optional<engine::BlockFormat> format, const Tensor& scales) {
  return format ? engine::pack_rows(engine::turned_rows(x, *format, scales), *format).bytes : x;
}

/// The mean squares (d) over their mean.
std::vector<float> mean_squares(const NormLayer& norm, bool interleaved) {
  const Tensor weight = norm.weight().value().to(engine::cpu).to(engine::DType::f32).contiguous();  // (d)
  const auto* w = weight.data<float>();
  const int64_t dim = weight.numel(), half = dim / 2;
  std::vector<float> out(static_cast<size_t>(dim));
  float mean = 0;
  for (int64_t i = 0; i < dim; ++i) {
    const int64_t other = interleaved ? i ^ 1 : (i + half) % dim;
    out[static_cast<size_t>(i)] = (w[i] * w[i] + w[other] * w[other]) / 2;
    mean += w[i] * w[i] / static_cast<float>(dim);
  }
  for (float& square : out) square = mean > 0 ? square / mean + 1e-4F : 1;
  return out;
}

}  // namespace

KeyScales even_key_scales(const NormLayer& q_norm, const NormLayer& k_norm, bool interleaved) {
  const std::vector<float> queries = mean_squares(q_norm, interleaved), keys = mean_squares(k_norm, interleaved);
  const auto dim = static_cast<int64_t>(queries.size());
  KeyScales out{Tensor::empty({dim}), Tensor::empty({dim})};  // (d), (d)
  for (int64_t i = 0; i < dim; ++i) {
    const auto at = static_cast<size_t>(i);
    const float fourth = queries[at] / keys[at];
    out.keys.mutable_data<float>()[i] = std::sqrt(std::sqrt(fourth));
    out.queries.mutable_data<float>()[i] = 1 / out.keys.data<float>()[i];
  }
  const engine::Device device = k_norm.weight().value().device();
  return {out.keys.to(device), out.queries.to(device)};
}

KeyValueCache::KeyValueCache(std::optional<engine::BlockFormat> keys, std::optional<engine::BlockFormat> values)
    : key_format_(keys), value_format_(values) {
  require(keys.has_value() == values.has_value(), "key-value cache: a format of keys and one of values, or neither");
}

KeyValueCache& KeyValueCache::operator=(KeyValueCache&& other) noexcept {
  key_format_ = other.key_format_, value_format_ = other.value_format_;
  key_dim_ = other.key_dim_, value_dim_ = other.value_dim_;
  keys_ = std::exchange(other.keys_, {});
  values_ = std::exchange(other.values_, {});
  scales_ = std::exchange(other.scales_, {});
  begin_ = std::exchange(other.begin_, 0);
  end_ = std::exchange(other.end_, 0);
  dropped_ = std::exchange(other.dropped_, 0);
  wanted_ = std::exchange(other.wanted_, 0);
  return *this;
}

KeyValueCache KeyValueCache::copy() const {
  KeyValueCache out(key_format_, value_format_);
  out.key_dim_ = key_dim_, out.value_dim_ = value_dim_;
  out.scales_ = scales_;
  out.end_ = length(), out.dropped_ = dropped_, out.wanted_ = wanted_;
  if (!keys_.defined()) return out;
  const auto copied = [&](const Tensor& memory) {
    const Tensor own = Tensor::empty(memory.shape(), memory.dtype(), memory.device());  // (B, capacity, H, d)
    if (length() > 0) engine::copy_inplace(own.slice(1, 0, length()), held(memory));
    return own;
  };
  out.keys_ = copied(keys_), out.values_ = copied(values_);
  return out;
}

void KeyValueCache::append(const Tensor& k_in, const Tensor& v_in) {
  if (k_in.rank() != 4 || v_in.rank() != 4 || k_in.dtype() != v_in.dtype() || k_in.device() != v_in.device() ||
      k_in.dim(0) != v_in.dim(0) || k_in.dim(1) != v_in.dim(1) || k_in.dim(2) != v_in.dim(2))
    fail("key-value cache: expected k (B, T, H_kv, d), v (B, T, H_kv, d_v) of one dtype: k {}, v {}", k_in.str(),
         v_in.str());
  const Tensor k = packed(k_in, key_format_, scales_.keys);  // (B, T, H_kv, d), or bytes
  const Tensor v = packed(v_in, value_format_, {});          // (B, T, H_kv, d_v), or bytes
  if (!fits(keys_, k) || !fits(values_, v))
    fail("key-value cache: k {}, v {} do not fit those held: k {}, v {}", k.str(), v.str(), keys().str(),
         values().str());
  grow(k.dim(1), k, v);
  const int64_t end = end_ + k.dim(1);
  if (k.numel() > 0) engine::copy_inplace(keys_.slice(1, end_, end), k);
  if (v.numel() > 0) engine::copy_inplace(values_.slice(1, end_, end), v);
  end_ = end;
  key_dim_ = k_in.dim(3), value_dim_ = v_in.dim(3);
}

void KeyValueCache::scale(KeyScales scales) {
  require(offset() == 0, "key-value cache: it is scaled after {} tokens", offset());
  scales_ = std::move(scales);
}

Tensor KeyValueCache::attention(const Tensor& q, const Tensor& slopes, const engine::AttentionOptions& options,
                                const Tensor& length) const {
  const Tensor k = length.defined() ? keys_ : keys(), v = length.defined() ? values_ : values();
  if (is_packed()) {
    const Tensor y =
        engine::packed_attention(engine::turned_rows(q, *key_format_, scales_.queries), {k, *key_format_, key_dim_},
                                 {v, *value_format_, value_dim_}, slopes, options, length);
    return engine::turned_rows(y, *value_format_);
  }
  if (length.defined()) return engine::cached_attention(q, k, v, slopes, *options.scale, length, options.window);
  return engine::attention(q, k, v, slopes, options).y;
}

void KeyValueCache::make_room(int64_t tokens) {
  require(keys_.defined() && begin_ == 0, "key-value cache: no token is held yet, or some were dropped");
  grow(tokens, keys_, values_);
}

void KeyValueCache::put(const Tensor& k, const Tensor& v, const Tensor& length) {
  engine::cache_token_inplace(keys_, packed(k, key_format_, scales_.keys), length);
  engine::cache_token_inplace(values_, packed(v, value_format_, {}), length);
}

void KeyValueCache::advance() {
  require(end_ < capacity(), "key-value cache: no memory for token {}", end_);
  ++end_;
}

void KeyValueCache::grow(int64_t tokens, const Tensor& k, const Tensor& v) {
  const int64_t held_now = length();
  const bool enough = keys_.defined() && end_ + tokens <= capacity() && wanted_ <= capacity();
  if (enough) return;
  const int64_t least = std::max({held_now + tokens, 2 * held_now, wanted_, int64_t{1}});
  const int64_t grown = (least + block - 1) / block * block;
  const auto moved = [&](const Tensor& held_rows, const Tensor& like) {
    const Tensor larger =
        Tensor::empty(like.shape().with(1, grown), like.dtype(), like.device());  // (B, capacity, H, d)
    if (held_now > 0) engine::copy_inplace(larger.slice(1, 0, held_now), held_rows);
    return larger;
  };
  const Tensor larger_keys = moved(keys(), k), larger_values = moved(values(), v);
  keys_ = larger_keys, values_ = larger_values;
  begin_ = 0, end_ = held_now;
}

void KeyValueCache::truncate(int64_t offset) {
  require(offset >= dropped_ && offset <= this->offset(),
          "key-value cache: cannot go back to position {}: it holds [{}, {})", offset, dropped_, this->offset());
  end_ = begin_ + offset - dropped_;
}

void KeyValueCache::drop_first(int64_t tokens) {
  require(tokens >= 0 && tokens <= length(), "key-value cache: cannot drop {} tokens of {}", tokens, length());
  begin_ += tokens, dropped_ += tokens;
}

void KeyValueCache::reset() { begin_ = end_ = dropped_ = 0; }

}  // namespace headroom::models
