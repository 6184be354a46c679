#include "engine/ops/min/min.h"

#include "engine/ops/min/min_kernel.h"

namespace headroom::engine {
namespace {

template <class T>
bool is_before(T a, T b) {
  return a < b;
}

const ExtremumOp forward_op{"min", extremum_rows<kernel::min_position, is_before<float>, is_before<double>>()};
const ExtremumGradOp grad_op{"min_grad", extremum_grad_rows()};

}  // namespace

Extremum min(const Tensor& x, const std::vector<int>& axes, bool keep_axes) {
  return extremum(forward_op, x, axes, keep_axes);
}
Tensor min_grad(const Tensor& dy, const Tensor& index, const Shape& shape, const std::vector<int>& axes) {
  return extremum_grad(grad_op, dy, index, shape, axes);
}

}  // namespace headroom::engine
