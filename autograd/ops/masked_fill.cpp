#include <limits>

#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {

Var masked_fill(const Var& x, const Tensor& mask, double value) {
  if (!x.defined() || !mask.defined()) fail("masked_fill: x is {}, mask {}", x.value().str(), mask.str());
  if (mask.dtype() != engine::DType::boolean || !engine::broadcasts_to(mask.shape(), x.shape()))
    fail("masked_fill: mask {} is not bool that broadcasts to x {}", mask.str(), x.value().str());
  return where(mask, Var(Tensor::full({}, value, x.value().dtype(), x.value().device())), x);
}

}  // namespace headroom::autograd
