#pragma once
#include "engine/ops/rows/scaled_gradient.h"

namespace headroom::engine {

struct KlDivergence {
  Tensor loss, dlogits;
};
/// Kullback-Leibler divergence from the softmax of a teacher's logits to that of `logits`, along the last axis, in nats
/// (Hinton et al., "Distilling the knowledge in a neural network", 2015, at temperature 1):
///
///   p = softmax(teacher_i), q = softmax(x_i),   loss = 1/N · Σ_i Σ_v p_v (log p_v - log q_v)
///   dlogits = 1/N · (q - p)
///
/// logits and teacher (…, V), finite → scalar. Ignores rows where `counted` (bool (…); undefined: all count) is false;
/// N is the number of the others if `mean`, else 1; a mean over none is 0. Equal logits give exactly 0. `dlogits` (…,
/// V) is dloss/dlogits, made in the same sweep over a row, and undefined unless wanted. The loss is in
/// statistic_dtype() of the logits. Throws Error if the shapes do not fit.
KlDivergence kl_divergence(const Tensor& logits, const Tensor& teacher, const Tensor& counted, bool mean,
                           bool want_gradient);

/// dlogits · dy, dy a scalar in the loss's dtype. May write to dlogits.
Tensor kl_divergence_grad(const Tensor& dy, const Tensor& dlogits);

/// A checked call. An implementation makes the loss, and fills dlogits if defined; it may be empty.
struct KlDivergenceCall {
  Tensor logits, teacher, counted;
  bool mean;
  Tensor loss{}, dlogits{};  ///< (), (…, V)
  auto operands() {
    return std::array{real("logits", logits), real("teacher", teacher), optional_mask("counted", counted)};
  }
};
extern Op<KlDivergenceCall> kl_divergence_op;
extern Op<ScaledGradientCall> kl_divergence_grad_op;

}  // namespace headroom::engine
