#include "models/keys_and_values.h"

#include <algorithm>

#include "autograd/ops.h"
#include "engine/ops/concat/concat.h"
#include "engine/ops/operators.h"
#include "models/attention.h"

namespace headroom::models {
namespace {

/// softmax(scale · q kᵀ + bias) itself: (B, H, T, T).
Tensor probabilities_of(const AttentionInputs& in) {
  const int64_t batch = in.q.dim(0), length = in.q.dim(1), kv_heads = in.v.dim(2);
  // Values that are the unit vectors of the positions: their weighted sum is the weights.
  const Tensor eye = Tensor::zeros({1, length, 1, length});  // (1, T, 1, T)
  for (int64_t t = 0; t < length; ++t) eye.mutable_data<float>()[t * length + t] = 1;
  const Tensor there = eye.to(in.q.value().dtype()).to(in.q.value().device());
  const Var unit(there.expand({batch, length, kv_heads, length}).contiguous());  // (B, T, H_kv, T)
  const autograd::NoGrad no_grad;
  return autograd::attention(in.q, in.k, unit, in.slopes, in.options)
      .value()
      .permute({0, 2, 1, 3})
      .contiguous();  // (B, H, T, T)
}

/// Appends k and v to what a cache holds, and attends to all of it: (B, T, H, d_v).
Tensor append_and_attend(KeyValueCache& cache, const AttentionInputs& in, const Tensor& q, const Tensor& k,
                         const Tensor& v, const Tensor& key_mask) {
  if (cache.offset() == 0) cache.scale(in.heads.key_scales(cache.key_format()));
  cache.append(k, v);
  engine::AttentionOptions options = in.options;
  // A cache that a window lets forget holds only the last keys.
  if (key_mask.defined()) options.key_mask = key_mask.slice(1, key_mask.dim(1) - cache.length(), key_mask.dim(1));
  return cache.attention(q, in.slopes.value(), options);
}

/// The rows of one sequence attend to its first `prefix` tokens in x and to each other: (1, T, H, d_v).
Tensor attend_after_prefix(const SequenceRows& rows, const AttentionInputs& in) {
  // Some queries of the prefix are asked again: few queries alone would be added in another order than those of a whole
  // text, and tiles of queries are padded to as many anyway.
  const int64_t again = std::min<int64_t>(rows.prefix, 16);
  const auto with_prefix = [&](const Var& x, int64_t from) {
    const Tensor own = x.value().slice(1, rows.begin, rows.end);
    return from == rows.prefix ? own : engine::concat({x.value().slice(1, from, rows.prefix), own}, 1);
  };
  const Tensor y = engine::attention(with_prefix(in.q, rows.prefix - again), with_prefix(in.k, 0), with_prefix(in.v, 0),
                                     in.slopes.value(), in.options)
                       .y;  // (1, again + T, H, d_v)
  return y.slice(1, again, y.dim(1));
}

Var rounded(const Var& rows, engine::BlockFormat format, const Tensor& scales) {
  const Tensor turned = engine::turned_rows(rows.value(), format, scales);  // (B, T, H_kv, d)
  return Var(engine::turned_rows(engine::unpack_rows(engine::pack_rows(turned, format)), format));
}

}  // namespace

KeysAndValues own_keys(const TextPlace& place, std::vector<Tensor>* probabilities) {
  return {.turns =
              [=](const RopeTurns& all, const AttentionInputs& in) {
                return all.rows(place.offset, place.offset + in.q.dim(1), place.length);
              },
          .attend =
              [=](AttentionInputs in) {
                in.options.key_mask = place.key_mask;
                if (probabilities) probabilities->push_back(probabilities_of(in));
                return autograd::attention(in.q, in.k, in.v, in.slopes, in.options);
              }};
}

KeysAndValues cached_keys(ModelCache& cache, const TextPlace& place) {
  return {.turns = own_keys(place).turns, .attend = [&cache, place](const AttentionInputs& in) {
            return Var(append_and_attend(cache.layer(in.layer)[in.group], in, in.q.value(), in.k.value(), in.v.value(),
                                         place.key_mask));
          }};
}

KeysAndValues recorded_keys(ModelCache& cache, const TokenPlace& place) {
  return {.turns =
              [&cache, place](const RopeTurns& all, const AttentionInputs& in) {
                return all.at(place.position, cache.layer(in.layer)[in.group].capacity());
              },
          .attend =
              [&cache, place](const AttentionInputs& in) {
                KeyValueCache& own = cache.layer(in.layer)[in.group];
                own.put(in.k.value(), in.v.value(), place.length);
                return Var(own.attention(in.q.value(), in.slopes.value(), in.options, place.length));  // (B, 1, H, d_v)
              }};
}

KeysAndValues sequence_keys(const SequenceTokens& sequences) {
  return {.turns = [&sequences](const RopeTurns& all, const AttentionInputs&) { return all.at(sequences); },
          .attend =
              [&sequences](const AttentionInputs& in) {
                std::vector<Tensor> outputs;
                for (const SequenceRows& rows : sequences.rows) {
                  const auto own = [&](const Var& x) { return x.value().slice(1, rows.begin, rows.end); };
                  outputs.push_back(rows.state ? append_and_attend(rows.state->layer(in.layer)[in.group], in, own(in.q),
                                                                   own(in.k), own(in.v), {})
                                               : attend_after_prefix(rows, in));
                }
                return Var(engine::concat(outputs, 1));  // (1, T, H, d_v)
              }};
}

KeysAndValues rounded_keys(const CacheTypes& types, const KeysAndValues& inner) {
  return {.turns = inner.turns, .attend = [types, attend = inner.attend](AttentionInputs in) {
            if (const auto format = types.keys(in.heads.shape())) {
              const KeyScales scales = in.heads.key_scales(format);
              in.k = rounded(in.k, *format, scales.keys);
              if (scales.queries.defined()) in.q = Var(in.q.value() * scales.queries);  // (B, T, H, d)
            }
            if (const auto format = types.values(in.heads.shape())) in.v = rounded(in.v, *format, {});
            return attend(std::move(in));
          }};
}

KeysAndValues observed_keys(const AttentionObserver& observer, const KeysAndValues& inner) {
  return {.turns = inner.turns, .attend = [observer, attend = inner.attend](AttentionInputs in) {
            observer(in);
            return attend(std::move(in));
          }};
}

}  // namespace headroom::models
