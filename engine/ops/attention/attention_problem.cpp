#include "engine/ops/attention/attention_problem.h"

#include "engine/error.h"

namespace headroom::engine {
namespace {

std::string shapes(const Tensor& q, const Tensor& k, const Tensor& v) {
  return fmt::format("q {}, k {}, v {}", q.shape().str(), k.shape().str(), v.shape().str());
}

}  // namespace

AttentionProblem attention_problem(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& slopes,
                                   const AttentionOptions& options) {
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4)
    fail("attention: expected q (B, Tq, H, d), k (B, Tk, H_kv, d), v (B, Tk, H_kv, d_v): {}", shapes(q, k, v));
  const AttentionProblem p{.batch = q.dim(0),
                           .queries = q.dim(1),
                           .keys = k.dim(1),
                           .heads = q.dim(2),
                           .kv_heads = k.dim(2),
                           .qk_dim = q.dim(3),
                           .v_dim = v.dim(3),
                           .causal = options.causal,
                           .scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.dim(3)))),
                           .dropout = options.dropout,
                           .dropout_key = options.dropout_key,
                           .key_mask = options.key_mask.defined() ? options.key_mask.contiguous() : Tensor(),
                           .window = options.window};
  if (k.dim(0) != p.batch || v.dim(0) != p.batch) fail("attention: batch sizes differ: {}", shapes(q, k, v));
  if (v.dim(1) != p.keys || v.dim(2) != p.kv_heads) fail("attention: k and v differ in T or H: {}", shapes(q, k, v));
  if (k.dim(3) != p.qk_dim) fail("attention: q and k differ in width: {}", shapes(q, k, v));
  if (p.qk_dim < 1 || p.v_dim < 1) fail("attention: a head has width 0: {}", shapes(q, k, v));
  if (p.kv_heads < 1 || p.heads % p.kv_heads != 0)
    fail("attention: {} query heads cannot share {} key-value heads: {}", p.heads, p.kv_heads, shapes(q, k, v));
  require(p.dropout >= 0 && p.dropout < 1, "attention: dropout {} is not in [0, 1)", p.dropout);
  require(p.window == 0 || (p.window > 0 && p.causal),
          "attention: a window of {}{}; it must be positive, and attention causal", p.window,
          p.causal ? "" : " without causality");
  if (slopes.defined() && !(slopes.shape() == Shape{p.heads}))
    fail("attention: slopes {} for {} heads: {}", slopes.shape().str(), p.heads, shapes(q, k, v));
  if (p.key_mask.defined() && !(p.key_mask.shape() == Shape{p.batch, p.keys}))
    fail("attention: key_mask {}, expected ({}, {}): {}", p.key_mask.str(), p.batch, p.keys, shapes(q, k, v));
  return p;
}

}  // namespace headroom::engine
