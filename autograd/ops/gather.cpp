#include "engine/ops/gather/gather.h"

#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {

Var gather(const Var& x, int axis, const Tensor& index) {
  return record(
      "gather", engine::gather(x.value(), axis, index), {x},
      [](const Tensor& dy, const Needs&, const Shape& kept_shape, int kept_axis, const Tensor& kept_index)
          -> std::vector<Tensor> { return {engine::gather_grad(dy, kept_shape, kept_axis, kept_index)}; },
      x.shape(), axis, saved("index", index));
}

Var index_select(const Var& x, int axis, const Tensor& indices) {
  require(x.defined(), "index_select: operand x is undefined");
  const int along = x.shape().index(axis, "index_select");
  if (indices.rank() != 1) fail("index_select: indices {} are not (m): x {}", indices.str(), x.value().str());
  return gather(x, axis, indices.reshape(Shape::of_rank(x.shape().rank()).with(along, indices.dim(0))));
}

}  // namespace headroom::autograd
