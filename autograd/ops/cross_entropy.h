#pragma once
#include "autograd/reduction.h"
#include "autograd/var.h"

namespace headroom::autograd {

/// Cross-entropy of the softmax over the last axis: logits (…, V), targets i64 (…) → scalar. Positions with target
/// ignore_index count in neither sum nor mean; a mean over none is 0.
Var cross_entropy(const Var& logits, const Tensor& targets, Reduction reduction = Reduction::mean,
                  int64_t ignore_index = -100);

}  // namespace headroom::autograd
