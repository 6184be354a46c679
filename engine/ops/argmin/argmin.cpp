#include "engine/ops/argmin/argmin.h"

#include <functional>

#include "engine/ops/min/min_kernel.h"

namespace headroom::engine {

ExtremumOp argmin_op{"argmin", extremum_rows<kernel::min_position, std::less<>>()};

Tensor argmin(const Tensor& x, const std::vector<int>& axes, bool keep_axes) {
  return extremum_index(argmin_op, x, axes, keep_axes);
}

}  // namespace headroom::engine
