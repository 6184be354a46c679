#include "engine/ops/scale/scale.h"

#include "engine/backend.h"
#include "engine/ops/binary.h"

namespace headroom::engine {

Tensor scale(const Tensor& x, double factor) {
  check_floating("scale", {&x});
  return mul(x, Tensor::full({}, factor, x.dtype(), x.device()));
}

}  // namespace headroom::engine
