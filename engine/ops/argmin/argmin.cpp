#include "engine/ops/argmin/argmin.h"

#include "engine/ops/min/min_kernel.h"

namespace headroom::engine {
namespace {

template <class T>
bool is_before(T a, T b) {
  return a < b;
}

}  // namespace

ExtremumOp argmin_op{"argmin", extremum_rows<kernel::min_position, is_before<float>, is_before<double>>()};

Tensor argmin(const Tensor& x, const std::vector<int>& axes, bool keep_axes) {
  return extremum_index(argmin_op, x, axes, keep_axes);
}

}  // namespace headroom::engine
