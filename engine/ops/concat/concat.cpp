#include "engine/ops/concat/concat.h"

#include "engine/error.h"

namespace headroom::engine {

Tensor concat(const std::vector<Tensor>& parts, int axis) {
  require(!parts.empty(), "concat: no parts");
  const Tensor& first = parts.front();
  require(first.rank() > 0, "concat: part 0 {} has no axes", first);
  const int along = first.shape().index(axis);
  Shape shape = first.shape().with(along, 0);
  for (size_t i = 0; i < parts.size(); ++i) {
    const Tensor& part = parts[i];
    const bool fits = part.rank() == first.rank() && part.dtype() == first.dtype() && part.device() == first.device() &&
                      part.shape().with(along, 0) == first.shape().with(along, 0);
    if (!fits) fail("concat: along axis {}, part {} {} does not fit part 0 {}", axis, i, part.str(), first.str());
    shape[along] += part.dim(along);
  }
  Tensor y = Tensor::empty(shape, first.dtype(), first.device());
  int64_t begin = 0;
  for (const Tensor& part : parts) {
    const int64_t end = begin + part.dim(along);
    copy_inplace(y.slice(along, begin, end), part);
    begin = end;
  }
  return y;
}

}  // namespace headroom::engine
