#include <cmath>

#include "autograd/ops.h"
#include "engine/sequences/hidden_pairs.h"

namespace headroom::autograd {
namespace {

/// (Tq, Tk): ALiBi's |i + (Tk - Tq) - j|.
Tensor distances(int64_t queries, int64_t keys, const Tensor& like) {
  std::vector<double> out;
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < keys; ++j) out.push_back(static_cast<double>(std::abs(i + keys - queries - j)));
  return Tensor::from({queries, keys}, out).to(like.dtype()).to(like.device());
}

}  // namespace

Var attention_weights(const Var& q, const Var& k, const Var& slopes, const AttentionOptions& options) {
  const int64_t batch = q.dim(0), queries = q.dim(1), heads = q.dim(2), keys = k.dim(1), kv_heads = k.dim(2);
  const int64_t group = heads / kv_heads, qk_dim = q.dim(3);
  const double factor = options.scale.value_or(1 / std::sqrt(static_cast<double>(qk_dim)));
  // Heads that share keys form an axis of their own, along which k broadcasts.
  const auto split = [&](const Var& x, int64_t length, int64_t per_group) {
    return reshape(permute(x, {0, 2, 1, 3}), {batch, kv_heads, per_group, length, qk_dim});
  };
  const Var grouped_q = split(q, queries, group), shared_k = split(k, keys, 1);  // (B, H_kv, G or 1, T, d_qk)
  Var scores = factor * matmul(grouped_q, shared_k, false, true);                // (B, H_kv, G, Tq, Tk)
  if (slopes.defined())
    scores = scores - reshape(slopes, {kv_heads, group, 1, 1}) * Var(distances(queries, keys, q.value()));
  // A finite fill, so that a row where all is forbidden stays finite until the second fill makes it zero.
  const Tensor hidden =
      engine::hidden_pairs(batch, queries, keys, options.causal, options.key_mask, q.value().device(), options.window)
          .reshape({batch, 1, 1, queries, keys});
  const Var weights = masked_fill(softmax(masked_fill(scores, hidden, -1e30)), hidden, 0);
  return reshape(weights, {batch, heads, queries, keys});
}

Var attention_composed(const Var& q, const Var& k, const Var& v, const Var& slopes, const AttentionOptions& options) {
  const int64_t batch = q.dim(0), queries = q.dim(1), heads = q.dim(2), keys = k.dim(1), kv_heads = k.dim(2);
  const int64_t group = heads / kv_heads, v_dim = v.dim(3);
  Var weights = attention_weights(q, k, slopes, options);  // (B, H, Tq, Tk)
  if (options.dropout > 0) weights = dropout(weights, options.dropout, options.dropout_key);
  const Var shared_v = reshape(permute(v, {0, 2, 1, 3}), {batch, kv_heads, 1, keys, v_dim});
  const Var y = matmul(reshape(weights, {batch, kv_heads, group, queries, keys}), shared_v);
  return permute(reshape(y, {batch, heads, queries, v_dim}), {0, 2, 1, 3});  // (B, Tq, H, d_v)
}

}  // namespace headroom::autograd
