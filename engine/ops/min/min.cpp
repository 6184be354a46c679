#include "engine/ops/min/min.h"

#include <functional>

#include "engine/ops/min/min_kernel.h"

namespace headroom::engine {

ExtremumOp min_op{"min", extremum_rows<kernel::min_position, std::less<>>()};
ExtremumGradOp min_grad_op{"min_grad", extremum_grad_rows()};

Extremum min(const Tensor& x, const std::vector<int>& axes, bool keep_axes) {
  return extremum(min_op, x, axes, keep_axes);
}
Tensor min_grad(const Tensor& dy, const Tensor& index, const Shape& shape, const std::vector<int>& axes) {
  return extremum_grad(min_grad_op, dy, index, shape, axes);
}

}  // namespace headroom::engine
