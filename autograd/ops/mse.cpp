#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {

Var mse(const Var& prediction, const Var& target, Reduction reduction) {
  const Shape& shape = prediction.shape();
  if (!prediction.defined() || !target.defined() || shape != target.shape())
    fail("mse: shapes differ: prediction {}, target {}", prediction.value().str(), target.value().str());
  const Var difference = prediction - target;
  const Var total = sum(difference * difference);
  if (reduction == Reduction::sum) return total;
  return scale(total, shape.numel() > 0 ? 1.0 / static_cast<double>(shape.numel()) : 0.0);
}

}  // namespace headroom::autograd
