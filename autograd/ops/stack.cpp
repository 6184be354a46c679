#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {

Var stack(const std::vector<Var>& parts, int axis) {
  require(!parts.empty(), "stack: no parts");
  const Tensor& first = parts.front().value();
  for (size_t i = 0; i < parts.size(); ++i) {
    const Tensor& part = parts[i].value();
    require(part.defined(), "stack: part {} is undefined", i);
    if (part.shape() != first.shape() || part.dtype() != first.dtype())
      fail("stack: part {} {} is not like part 0 {}", i, part.str(), first.str());
  }
  const int rank = first.rank() + 1;
  if (axis < -rank || axis >= rank) fail("stack: axis {} is out of range for parts {}", axis, first.shape().str());
  std::vector<Var> raised;
  for (const Var& part : parts) raised.push_back(unsqueeze(part, axis));
  return concat(raised, axis);
}

}  // namespace headroom::autograd
