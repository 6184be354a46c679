#include "engine/ops/min/min.h"

#include "engine/ops/min/min_kernel.h"

namespace headroom::engine {
namespace {

template <class T>
bool is_before(T a, T b) {
  return a < b;
}

}  // namespace

ExtremumOp min_op{"min", extremum_rows<kernel::min_position, is_before<float>, is_before<double>>()};
ExtremumGradOp min_grad_op{"min_grad", extremum_grad_rows()};

Extremum min(const Tensor& x, const std::vector<int>& axes, bool keep_axes) {
  return extremum(min_op, x, axes, keep_axes);
}
Tensor min_grad(const Tensor& dy, const Tensor& index, const Shape& shape, const std::vector<int>& axes) {
  return extremum_grad(min_grad_op, dy, index, shape, axes);
}

}  // namespace headroom::engine
