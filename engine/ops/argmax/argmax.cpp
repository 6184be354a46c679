#include "engine/ops/argmax/argmax.h"

#include <functional>

#include "engine/ops/max/max_kernel.h"

namespace headroom::engine {

ExtremumOp argmax_op{"argmax", extremum_rows<kernel::max_position, std::greater<>>()};

Tensor argmax(const Tensor& x, const std::vector<int>& axes, bool keep_axes) {
  return extremum_index(argmax_op, x, axes, keep_axes);
}

}  // namespace headroom::engine
