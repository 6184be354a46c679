// reshape, permute, transpose, slice, select, squeeze, unsqueeze, expand: no kernels, the engine's views forward and
// backward.
#include <utility>

#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {

Var reshape(const Var& x, const Shape& shape) {
  return record(
      "reshape", x.value().reshape(shape), {x},
      [](const Tensor& dy, const Needs&, const Shape& from) -> std::vector<Tensor> { return {dy.reshape(from)}; },
      x.shape());
}

Var permute(const Var& x, const std::vector<int>& axes) {
  const Tensor y = x.value().permute(axes);
  std::vector<int> inverse(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) inverse[static_cast<size_t>(x.shape().index(axes[i]))] = static_cast<int>(i);
  return record(
      "permute", y, {x},
      [](const Tensor& dy, const Needs&, const std::vector<int>& kept_inverse) -> std::vector<Tensor> {
        return {dy.permute(kept_inverse)};
      },
      inverse);
}

Var transpose(const Var& x, int axis_a, int axis_b) {
  return record(
      "transpose", x.value().transpose(axis_a, axis_b), {x},
      [](const Tensor& dy, const Needs&, int kept_axis_a, int kept_axis_b) -> std::vector<Tensor> {
        return {dy.transpose(kept_axis_a, kept_axis_b)};
      },
      axis_a, axis_b);
}

Var slice(const Var& x, int axis, int64_t begin, int64_t end, int64_t step) {
  return record(
      "slice", x.value().slice(axis, begin, end, step), {x},
      [](const Tensor& dy, const Needs&, const Shape& kept_shape, int kept_axis, int64_t kept_begin, int64_t kept_end,
         int64_t kept_step) -> std::vector<Tensor> {
        const Tensor dx = Tensor::zeros(kept_shape, dy.dtype(), dy.device());
        engine::copy_inplace(dx.slice(kept_axis, kept_begin, kept_end, kept_step), dy);
        return {dx};
      },
      x.shape(), axis, begin, end, step);
}

Var select(const Var& x, int axis, int64_t i) {
  require(x.defined(), "select: operand x is undefined");
  const int along = x.shape().index(axis, "select");
  const int64_t n = x.dim(along), at = i < 0 ? i + n : i;
  if (at < 0 || at >= n) fail("select: {} is outside axis {} of shape {}", i, axis, x.shape().str());
  return reshape(slice(x, along, at, at + 1), x.shape().without(along));
}

Var Var::operator[](int64_t i) const { return select(*this, 0, i); }

Var squeeze(const Var& x, int axis) {
  require(x.defined(), "squeeze: operand x is undefined");
  const int along = x.shape().index(axis, "squeeze");
  if (x.dim(along) != 1) fail("squeeze: axis {} of shape {} has not size 1", axis, x.shape().str());
  return reshape(x, x.shape().without(along));
}

Var unsqueeze(const Var& x, int axis) {
  require(x.defined(), "unsqueeze: operand x is undefined");
  const int rank = x.shape().rank() + 1, along = axis < 0 ? axis + rank : axis;
  if (along < 0 || along >= rank) fail("unsqueeze: axis {} is out of range for shape {}", axis, x.shape().str());
  Shape shape;
  for (int i = 0; i < rank; ++i) shape.push_back(i == along ? 1 : x.dim(i < along ? i : i - 1));
  return reshape(x, shape);
}

Var expand(const Var& x, const Shape& shape) {
  // The tape sums dy back to x's shape.
  return record("expand", x.value().expand(shape), {x},
                [](const Tensor& dy, const Needs&) -> std::vector<Tensor> { return {dy}; });
}

}  // namespace headroom::autograd
