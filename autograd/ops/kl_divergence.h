#pragma once
#include "autograd/reduction.h"
#include "autograd/var.h"

namespace headroom::autograd {

/// Kullback-Leibler divergence from softmax(teacher) to softmax(logits) along the last axis: both (…, V) → scalar, in
/// nats. Rows with `counted` (bool (…); undefined: all count) false count in neither sum nor mean; a mean over none is
/// 0. The teacher gets no gradient.
Var kl_divergence(const Var& logits, const Tensor& teacher, const Tensor& counted = {},
                  Reduction reduction = Reduction::mean);

}  // namespace headroom::autograd
