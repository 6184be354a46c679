#include "engine/ops/max/max.h"

#include <functional>

#include "engine/ops/max/max_kernel.h"

namespace headroom::engine {

ExtremumOp max_op{"max", extremum_rows<kernel::max_position, std::greater<>>()};
ExtremumGradOp max_grad_op{"max_grad", extremum_grad_rows()};

Extremum max(const Tensor& x, const std::vector<int>& axes, bool keep_axes) {
  return extremum(max_op, x, axes, keep_axes);
}
Tensor max_grad(const Tensor& dy, const Tensor& index, const Shape& shape, const std::vector<int>& axes) {
  return extremum_grad(max_grad_op, dy, index, shape, axes);
}

}  // namespace headroom::engine
