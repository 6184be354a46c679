#include "engine/ops/argmax/argmax.h"

#include "engine/ops/max/max_kernel.h"

namespace headroom::engine {
namespace {

template <class T>
bool is_before(T a, T b) {
  return a > b;
}

}  // namespace

ExtremumOp argmax_op{"argmax", extremum_rows<kernel::max_position, is_before<float>, is_before<double>>()};

Tensor argmax(const Tensor& x, const std::vector<int>& axes, bool keep_axes) {
  return extremum_index(argmax_op, x, axes, keep_axes);
}

}  // namespace headroom::engine
