#pragma once
#include "autograd/var.h"
#include "engine/ops/attention/attention.h"

namespace headroom::autograd {

using engine::AttentionOptions;
/// softmax(scale · q kᵀ + bias) v in one pass, without a T×T matrix in memory (Dao et al., 2022; Rabe & Staats, 2021).
///   q (B, Tq, H, d_qk), k (B, Tk, H_kv, d_qk), v (B, Tk, H_kv, d_v) → (B, Tq, H, d_v);  H_kv divides H.
///   slopes (H) or undefined: ALiBi (Press et al., 2022), bias = -slope_h · |i + (Tk - Tq) - j|, differentiable.
/// A query that may attend to nothing gives zeros and no gradient.
Var attention(const Var& q, const Var& k, const Var& v, const Var& slopes = {}, const AttentionOptions& options = {});
/// The weights only, all in memory: softmax(scale · q kᵀ + bias), zero for keys that may not be seen, (B, H, Tq, Tk);
/// without dropout.
Var attention_weights(const Var& q, const Var& k, const Var& slopes = {}, const AttentionOptions& options = {});
/// `attention` built from matmul, softmax and masks: the definition it must match.
Var attention_composed(const Var& q, const Var& k, const Var& v, const Var& slopes = {},
                       const AttentionOptions& options = {});

}  // namespace headroom::autograd
