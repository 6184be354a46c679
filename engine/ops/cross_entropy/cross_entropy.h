#pragma once
#include "engine/ops/rows/scaled_gradient.h"

namespace headroom::engine {

struct CrossEntropy {
  Tensor loss, dlogits;
};
/// Cross-entropy of the softmax over the last axis against one class per row.
///
///   loss = 1/N · Σ_i (log Σ_v e^(x_iv - max x_i) - (x_it - max x_i)),   t the target of row i
///   dlogits = 1/N · (softmax(x_i) - onehot(t))
///
/// logits (…, V), targets i64 or i32 (…) → scalar. Ignores rows whose target is `ignore_index`; N is the number of the
/// others if `mean`, else 1; a mean over none is 0. `dlogits` (…, V) is dloss/dlogits, made in the same sweep over a
/// row, and undefined unless wanted; if logits are padded_rows(), so is it, with zeros in the gaps. The loss is in
/// statistic_dtype() of the logits. Throws Error if the shapes do not fit, or naming a target outside [0, V); on CUDA,
/// where kernels cannot throw, such a row's loss and gradient are NaN.
CrossEntropy cross_entropy(const Tensor& logits, const Tensor& targets, bool mean, int64_t ignore_index,
                           bool want_gradient);

/// dlogits · dy, dy a scalar in the loss's dtype; no sweep over dlogits if dy is 1. May write to dlogits.
Tensor cross_entropy_grad(const Tensor& dy, const Tensor& dlogits);

/// A checked call. An implementation makes the loss, and fills dlogits if defined; it may be empty.
struct CrossEntropyCall {
  Tensor logits, targets;
  int64_t ignore_index;
  bool mean;
  Tensor loss{}, dlogits{};  ///< (), (…, V)
  auto operands() { return std::array{real("logits", logits), index("targets", targets)}; }
  Work work() const {
    return {.exponentials = static_cast<double>(logits.numel()),
            .bytes = bytes_of(logits) + bytes_of(targets) + bytes_of(dlogits)};
  }
};
extern Op<CrossEntropyCall> cross_entropy_op;
extern Op<ScaledGradientCall> cross_entropy_grad_op;

}  // namespace headroom::engine
