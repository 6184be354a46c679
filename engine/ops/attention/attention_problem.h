#pragma once
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/dispatch/op.h"
#include "engine/ops/attention/attention.h"

namespace headroom::engine {

/// One call's sizes and options, checked.
struct AttentionProblem {
  int64_t batch, queries, keys, heads, kv_heads, qk_dim, v_dim;
  bool causal;
  double scale, dropout;
  RngKey dropout_key;
  Tensor key_mask;
  int64_t window = 0;

  int64_t group() const { return heads / kv_heads; }
  /// Query i may see keys [first(i), visible(i)).
  int64_t first(int64_t i) const {
    return window > 0 ? std::clamp<int64_t>(i + keys - queries + 1 - window, 0, keys) : 0;
  }
  int64_t visible(int64_t i) const { return causal ? std::clamp<int64_t>(i + keys - queries + 1, 0, keys) : keys; }
  /// The ALiBi distance.
  double distance(int64_t i, int64_t j) const { return static_cast<double>(std::abs(i + keys - queries - j)); }
  const bool* mask(int64_t b) const { return key_mask.defined() ? key_mask.data<bool>() + b * keys : nullptr; }
  uint32_t dropped_below() const {
    return static_cast<uint32_t>(std::min(std::floor(dropout * 0x1p32 + 0.5), 0x1p32 - 1));
  }
  /// m_ij of the formula.
  double kept(int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (dropout == 0) return 1;
    const int64_t index = ((b * heads + h) * queries + i) * keys + j;
    return random_bits(dropout_key, static_cast<uint64_t>(index)) < dropped_below() ? 0 : 1 / (1 - dropout);
  }
};

/// Attention's work without dropout: the scores that a query may see, their exponentials, and the values weighted by
/// them; for gradients the scores again, and four products.
Work attention_work(const AttentionProblem& problem, DType dtype, bool is_gradient);

/// The problem these operands pose. Throws Error naming shapes that do not fit, or the dropout.
AttentionProblem attention_problem(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& slopes,
                                   const AttentionOptions& options);

/// x (B, T, H, d) itself if every row of d is contiguous, else a row-major copy.
inline Tensor with_whole_rows(const Tensor& x) { return x.dim(3) == 1 || x.strides()[3] == 1 ? x : x.contiguous(); }

/// One call of attention(), for its implementations.
struct AttentionCall {
  Tensor q, k, v, slopes, key_mask;
  AttentionProblem problem{};
  Attention out{};
  auto operands() {
    return std::array{real("q", q), real("k", k), real("v", v), optional_real("slopes", slopes),
                      optional_mask("key_mask", key_mask)};
  }
  Work work() const;
};

/// One call of attention_grad(). dslopes (B, H), if slopes are given, must still be summed over the sequences, and has
/// lse's dtype.
struct AttentionGradCall {
  Tensor dy, q, k, v, slopes, key_mask;
  Attention forward;
  AttentionProblem problem{};
  Tensor dq{}, dk{}, dv{}, dslopes{};
  auto operands() {
    return std::array{real("dy", dy),
                      real("q", q),
                      real("k", k),
                      real("v", v),
                      real("y", forward.y),
                      statistic("lse", forward.lse),
                      optional_real("slopes", slopes),
                      optional_mask("key_mask", key_mask)};
  }
  Work work() const;
};

extern Op<AttentionCall> attention_op;
extern Op<AttentionGradCall> attention_grad_op;

}  // namespace headroom::engine
