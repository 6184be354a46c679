#include "engine/ops/scale/scale.h"

#include "engine/ops/elementwise/arithmetic.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/elementwise/binary_kernel.h"

namespace headroom::engine {
namespace {
const BinaryOp op{"scale", binary_rows<Mul, kernel::mul_forward>()};
}

Tensor scale(const Tensor& x, double factor) { return binary(op, x, Tensor::full({}, factor, x.dtype(), x.device())); }

}  // namespace headroom::engine
