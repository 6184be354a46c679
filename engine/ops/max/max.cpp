#include "engine/ops/max/max.h"

#include <algorithm>

#include "engine/dispatch/op.h"
#include "engine/error.h"
#include "engine/ops/max/max_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

template <class T>
int64_t max_position_loop(const T* x, int64_t n) {
  int64_t best = 0;
  for (int64_t i = 1; i < n && x[best] == x[best]; ++i)
    if (x[i] > x[best] || x[i] != x[i]) best = i;
  return best;
}

/// x's axes, the kept ones before the reduced ones.
struct Plan {
  std::vector<int> order;
  Shape kept, with_ones;
  int64_t outer = 1, reduced = 1;

  Plan(const Shape& shape, const std::vector<int>& axes) {
    std::vector<bool> reduces(static_cast<size_t>(shape.rank()), axes.empty());
    for (int axis : axes) {
      const auto i = static_cast<size_t>(shape.index(axis, "max"));
      if (reduces[i]) fail("max: axis {} named twice for shape {}", axis, shape.str());
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

struct Call {
  Tensor x;             ///< (outer, reduced)
  Tensor y{}, index{};  ///< outer elements each
  auto operands() { return std::array{real("x", x)}; }
};

struct GradCall {
  Tensor dy, index;
  Tensor dx{};  ///< (outer, reduced), zeros before
  auto operands() { return std::array{real("dy", dy), engine::index("index", index)}; }
};

template <class T>
void run(Call& c, int64_t (*max_position)(const T* x, int64_t n)) {
  const int64_t outer = c.x.dim(0), reduced = c.x.dim(1);
  const T* x = c.x.data<T>();
  T* y = c.y.mutable_data<T>();
  auto* index = c.index.mutable_data<int64_t>();
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 14) / std::max<int64_t>(1, reduced));
  parallel_ranges(outer, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      index[i] = max_position(x + i * reduced, reduced);
      y[i] = x[i * reduced + index[i]];
    }
  });
}

template <class T>
void run_grad(GradCall& c) {
  const int64_t reduced = c.dx.dim(1);
  const auto* index = c.index.data<int64_t>();
  const T* dy = c.dy.data<T>();
  T* dx = c.dx.mutable_data<T>();
  for (int64_t i = 0; i < c.dx.dim(0); ++i) {
    if (index[i] < 0 || index[i] >= reduced)
      fail("max_grad: index {} at position {} is outside [0, {})", index[i], i, reduced);
    dx[i * reduced + index[i]] = dy[i];
  }
}

const Op<Call> forward_op{
    "max", kernel_and_loops<Call>(
               kernel::max_position.levels(), [](Call& c) { run<float>(c, kernel::max_position.best()); },
               [](Call& c) { run<float>(c, max_position_loop); }, [](Call& c) { run<double>(c, max_position_loop); })};

const Op<GradCall> grad_op{"max_grad",
                           {{.name = "loops", .dtypes = DType::f32, .run = run_grad<float>, .is_reference = true},
                            {.name = "loops", .dtypes = DType::f64, .run = run_grad<double>, .is_reference = true}}};

}  // namespace

Max max(const Tensor& x, const std::vector<int>& axes, bool keep_axes) {
  Call call{x};
  forward_op.check(call);
  const Plan plan(x.shape(), axes);
  call.y = Tensor::empty(keep_axes ? plan.with_ones : plan.kept, x.dtype(), x.device());
  call.index = Tensor::empty({plan.outer}, DType::i64, x.device());
  if (plan.outer == 0) return {call.y, call.index};
  if (plan.reduced == 0) fail("max: no elements along the axes to take the maximum of: x {}", x.shape().str());
  call.x = x.permute(plan.order).reshape({plan.outer, plan.reduced});
  forward_op.run(call);
  return {call.y, call.index};
}

Tensor max_grad(const Tensor& dy, const Tensor& index, const Shape& shape, const std::vector<int>& axes) {
  GradCall call{dy, index};
  grad_op.check(call);
  const Plan plan(shape, axes);
  if (dy.numel() != plan.outer || index.numel() != plan.outer)
    fail("max_grad: dy {} and index {} do not fit x {}", dy.shape().str(), index.shape().str(), shape.str());
  Shape ordered;
  std::vector<int> back(plan.order.size());
  for (size_t i = 0; i < plan.order.size(); ++i) {
    ordered.push_back(shape[plan.order[i]]);
    back[static_cast<size_t>(plan.order[i])] = static_cast<int>(i);
  }
  call.dx = Tensor::zeros({plan.outer, plan.reduced}, dy.dtype(), dy.device());
  if (call.dx.numel() > 0) grad_op.run(call);
  return call.dx.reshape(ordered).permute(back);
}

}  // namespace headroom::engine
