#pragma once
#include <algorithm>

#include "engine/parallel.h"
#include "engine/tensor.h"

namespace headroom::engine::detail {

/// Strides of `x` for walking `out`: 0 along broadcast axes.
inline Shape walk_strides(const Tensor& x, const Shape& out) { return x.expand(out).strides(); }

/// Merges neighbouring axes that both operands allow, to make the innermost run as long as possible.
struct BinaryWalk {
  Shape shape, a, b;
  BinaryWalk(const Shape& out, const Shape& strides_a, const Shape& strides_b) {
    for (int axis = 0; axis < out.rank(); ++axis) {
      const int last = shape.rank() - 1;
      const int64_t n = out[axis];
      if (last >= 0 && a[last] == strides_a[axis] * n && b[last] == strides_b[axis] * n) {
        shape[last] *= n;
        a[last] = strides_a[axis];
        b[last] = strides_b[axis];
      } else if (n != 1) {
        shape.push_back(n);
        a.push_back(strides_a[axis]);
        b.push_back(strides_b[axis]);
      }
    }
    if (shape.rank() == 0) shape.push_back(1), a.push_back(0), b.push_back(0);
  }
};

/// Walks `out`, which is not empty, with a and b broadcast to it: calls f(offset in a, a's stride, offset in b, b's
/// stride, offset in the row-major result, n) for each run; the strides are 0 or 1. Splits long runs and groups short
/// ones, depending only on the shape.
template <class F>
void walk_binary(const Shape& out, const Tensor& a, const Tensor& b, F&& f) {
  const BinaryWalk walk(out, walk_strides(a, out), walk_strides(b, out));
  const int last = walk.shape.rank() - 1;
  const int64_t n = walk.shape[last], runs = walk.shape.numel(0, last);
  const int64_t pieces = (n + elementwise_grain - 1) / elementwise_grain,
                per_task = std::max<int64_t>(1, elementwise_grain / n);
  parallel_for(runs * pieces, per_task, [&](int64_t task) {
    const int64_t run = task / pieces, first = task % pieces * elementwise_grain,
                  count = std::min(elementwise_grain, n - first);
    int64_t rest = run, ia = first * walk.a[last], ib = first * walk.b[last];
    for (int axis = last - 1; axis >= 0; --axis) {
      const int64_t i = rest % walk.shape[axis];
      rest /= walk.shape[axis];
      ia += i * walk.a[axis];
      ib += i * walk.b[axis];
    }
    f(ia, walk.a[last], ib, walk.b[last], run * n + first, count);
  });
}

}  // namespace headroom::engine::detail
