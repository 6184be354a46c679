#pragma once
#include "engine/tensor.h"

namespace headroom::engine {

struct CrossEntropy {
  Tensor loss, dlogits;
};
/// Cross-entropy of the softmax over the last axis against one class per row.
///
///   loss = 1/N · Σ_i (log Σ_v e^(x_iv - max x_i) - (x_it - max x_i)),   t the target of row i
///   dlogits = 1/N · (softmax(x_i) - onehot(t))
///
/// logits (…, V), targets i64 or i32 (…) → scalar. Rows whose target is `ignore_index` count in neither; N is the
/// number of the others when `mean`, else 1; a mean over none is 0. `dlogits` (…, V) is dloss/dlogits, made in the same
/// sweep over a row, and undefined unless wanted. Throws Error when the shapes do not fit or naming a target outside
/// [0, V).
CrossEntropy cross_entropy(const Tensor& logits, const Tensor& targets, bool mean, int64_t ignore_index,
                           bool want_gradient);

}  // namespace headroom::engine
