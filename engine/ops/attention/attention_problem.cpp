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
  if (p.dropout > 0) check_key("attention", p.dropout_key, p.batch * p.heads * p.queries * p.keys, q.device());
  require(p.window == 0 || (p.window > 0 && p.causal),
          "attention: a window of {}{}; it must be positive, and attention causal", p.window,
          p.causal ? "" : " without causality");
  if (slopes.defined() && !(slopes.shape() == Shape{p.heads}))
    fail("attention: slopes {} for {} heads: {}", slopes.shape().str(), p.heads, shapes(q, k, v));
  if (p.key_mask.defined() && !(p.key_mask.shape() == Shape{p.batch, p.keys}))
    fail("attention: key_mask {}, expected ({}, {}): {}", p.key_mask.str(), p.batch, p.keys, shapes(q, k, v));
  return p;
}

Work attention_work(const AttentionProblem& p, DType dtype, bool is_gradient) {
  int64_t seen = 0;
  for (int64_t i = 0; i < p.queries; ++i) seen += std::max<int64_t>(0, p.visible(i) - p.first(i));
  const double share = static_cast<double>(seen) / static_cast<double>(std::max<int64_t>(1, p.queries * p.keys));
  const auto product = [&](int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b) {
    return Product{m, n, k, transpose_a, transpose_b, p.batch * p.heads, dtype, share};
  };
  Work work{.products = {product(p.queries, p.keys, p.qk_dim, false, true)},  // q·kᵀ
            .exponentials = static_cast<double>(p.batch * p.heads * seen)};
  if (is_gradient) {
    work.products.push_back(product(p.queries, p.keys, p.v_dim, false, true));    // dp = dy·vᵀ
    work.products.push_back(product(p.keys, p.v_dim, p.queries, true, false));    // dv = pᵀ·dy
    work.products.push_back(product(p.keys, p.qk_dim, p.queries, true, false));   // dk = dsᵀ·q
    work.products.push_back(product(p.queries, p.qk_dim, p.keys, false, false));  // dq = ds·k
  } else {
    work.products.push_back(product(p.queries, p.v_dim, p.keys, false, false));  // y = p·v
  }
  return work;
}

Work AttentionCall::work() const {
  Work work = attention_work(problem, q.dtype(), false);
  work.bytes = bytes_of(q) + bytes_of(k) + bytes_of(v) + bytes_of(out.y) + bytes_of(out.lse);
  return work;
}

Work AttentionGradCall::work() const {
  Work work = attention_work(problem, q.dtype(), true);
  for (const Tensor* x : {&q, &k, &v}) work.bytes += 2 * bytes_of(*x);  // each has a gradient
  work.bytes += bytes_of(dy) + bytes_of(forward.y) + bytes_of(forward.lse);
  return work;
}

}  // namespace headroom::engine
