#include "engine/ops/rows/extremum.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

/// x's axes, the kept ones before the reduced ones.
struct ExtremumPlan {
  std::vector<int> order;
  Shape kept, with_ones;
  int64_t outer = 1, reduced = 1;

  ExtremumPlan(const char* op, const Shape& shape, const std::vector<int>& axes) {
    std::vector<bool> reduces(static_cast<size_t>(shape.rank()), axes.empty());
    for (int axis : axes) {
      const auto i = static_cast<size_t>(shape.index(axis, op));
      if (reduces[i]) fail("{}: axis {} named twice for shape {}", op, axis, shape.str());
      reduces[i] = true;
    }
    for (bool want : {false, true})
      for (int i = 0; i < shape.rank(); ++i)
        if (reduces[static_cast<size_t>(i)] == want) {
          order.push_back(i);
          (want ? reduced : outer) *= shape[i];
        }
    for (int i = 0; i < shape.rank(); ++i) {
      with_ones.push_back(reduces[static_cast<size_t>(i)] ? 1 : shape[i]);
      if (!reduces[static_cast<size_t>(i)]) kept.push_back(shape[i]);
    }
  }
};

/// Fills the index, and y where it is wanted.
Extremum find(const ExtremumOp& op, const Tensor& x, const std::vector<int>& axes, bool keep_axes, bool wants_y) {
  ExtremumCall call{x};
  op.check(call);
  const ExtremumPlan plan(op.name(), x.shape(), axes);
  const Shape shape = keep_axes ? plan.with_ones : plan.kept;
  if (wants_y) call.y = Tensor::empty(shape, x.dtype(), x.device());
  call.index = Tensor::empty(shape, DType::i64, x.device());
  if (plan.outer == 0) return {call.y, call.index};
  if (plan.reduced == 0) fail("{}: no elements along the axes to choose from: x {}", op.name(), x.shape().str());
  call.x = x.permute(plan.order).reshape({plan.outer, plan.reduced});
  op.run(call);
  return {call.y, call.index};
}

template <class T>
void run_extremum_grad(ExtremumGradCall& c) {
  const int64_t reduced = c.dx.dim(1);
  const auto* index = c.index.data<int64_t>();
  const T* dy = c.dy.data<T>();
  T* dx = c.dx.mutable_data<T>();
  for (int64_t i = 0; i < c.dx.dim(0); ++i) {
    if (index[i] < 0 || index[i] >= reduced)
      fail("{}: index {} at position {} is outside [0, {})", c.name, index[i], i, reduced);
    dx[i * reduced + index[i]] = dy[i];
  }
}

}  // namespace

namespace detail {

template <class T>
void run_extremum(ExtremumCall& c, Position<T> position) {
  const int64_t outer = c.x.dim(0), reduced = c.x.dim(1);
  const T* x = c.x.data<T>();
  T* y = c.y.mutable_data_or_null<T>();
  auto* index = c.index.mutable_data<int64_t>();
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 14) / std::max<int64_t>(1, reduced));
  parallel_for(outer, grain, [&](int64_t i) {
    index[i] = position(x + i * reduced, reduced);
    if (y) y[i] = x[i * reduced + index[i]];
  });
}
template void run_extremum<float>(ExtremumCall&, Position<float>);
template void run_extremum<double>(ExtremumCall&, Position<double>);

}  // namespace detail

ExtremumGradOp::Rows extremum_grad_rows() {
  return {{.name = "loops", .dtypes = DType::f32, .run = run_extremum_grad<float>, .is_reference = true},
          {.name = "loops", .dtypes = DType::f64, .run = run_extremum_grad<double>, .is_reference = true}};
}

Extremum extremum(const ExtremumOp& op, const Tensor& x, const std::vector<int>& axes, bool keep_axes) {
  return find(op, x, axes, keep_axes, true);
}
Tensor extremum_index(const ExtremumOp& op, const Tensor& x, const std::vector<int>& axes, bool keep_axes) {
  return find(op, x, axes, keep_axes, false).index;
}

Tensor extremum_grad(const ExtremumGradOp& op, const Tensor& dy, const Tensor& index, const Shape& shape,
                     const std::vector<int>& axes) {
  ExtremumGradCall call{dy, index, op.name()};
  op.check(call);
  const ExtremumPlan plan(op.name(), shape, axes);
  if (dy.numel() != plan.outer || index.numel() != plan.outer)
    fail("{}: dy {} and index {} do not fit x {}", op.name(), dy.shape().str(), index.shape().str(), shape.str());
  Shape ordered;
  std::vector<int> back(plan.order.size());
  for (size_t i = 0; i < plan.order.size(); ++i) {
    ordered.push_back(shape[plan.order[i]]);
    back[static_cast<size_t>(plan.order[i])] = static_cast<int>(i);
  }
  call.dx = Tensor::zeros({plan.outer, plan.reduced}, dy.dtype(), dy.device());
  if (call.dx.numel() > 0) op.run(call);
  return call.dx.reshape(ordered).permute(back);
}

}  // namespace headroom::engine
