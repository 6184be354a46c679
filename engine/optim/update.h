#pragma once
#include "engine/tensor.h"

namespace headroom::engine {

/// One step of Adam (Kingma & Ba, 2015) over flat arrays of N elements, f32 or f64, in PyTorch's arithmetic:
///   p ← p·(1 - lr·decay)                         (decoupled: AdamW, Loshchilov & Hutter, 2019)
///   g ← g + l2·p                                 (coupled: Adam)
///   m ← m + (1-β₁)(g - m),   v ← β₂·v + (1-β₂)·g²
///   p ← p - lr/(1-β₁ᵗ) · m / (√v/√(1-β₂ᵗ) + eps)
struct AdamStep {
  double lr = 0, beta1 = 0, beta2 = 0, eps = 0;
  int64_t step = 1;  ///< t, from 1
};
/// Elements [0, decayed) use `decoupled_decay` and `l2_decay`, the rest neither.
void adam_inplace(const Tensor& values, const Tensor& gradients, const Tensor& mean, const Tensor& square,
                  const AdamStep& step, double decoupled_decay, double l2_decay, int64_t decayed);

/// One step of SGD over flat arrays: g ← g + l2·p; b ← μ·b + g (b ← g at the first step); p ← p - lr·(nesterov ? g +
/// μ·b : b). `momentum` undefined when μ = 0: p ← p - lr·g.
struct SgdStep {
  double lr = 0, momentum = 0;
  bool nesterov = false, first = false;
};
void sgd_inplace(const Tensor& values, const Tensor& gradients, const Tensor& momentum, const SgdStep& step,
                 double l2_decay, int64_t decayed);

/// Σ x², accumulated in f64 over fixed chunks: the same bits on any number of threads.
double square_sum(const Tensor& x);

/// x ← factor·x.
void scale_inplace(const Tensor& x, double factor);

}  // namespace headroom::engine
