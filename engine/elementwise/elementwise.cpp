#include "engine/elementwise/elementwise.h"

#include <algorithm>

#include "engine/backend.h"
#include "engine/device_op.h"
#include "engine/error.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

constexpr int64_t grain = 1 << 14;

/// The data of an optional operand from element i on.
template <class T>
const T* at(const Tensor& x, int64_t i) {
  return x.defined() ? x.data<T>() + i : nullptr;
}

/// Strides of `x` for walking `out`: 0 along broadcast axes.
Shape walk_strides(const Tensor& x, const Shape& out) { return x.expand(out).strides(); }

/// Merges neighbouring axes that both operands walk as one, so that the innermost run is as long as possible.
struct Walk {
  Shape shape, a, b;
  Walk(const Shape& out, const Shape& strides_a, const Shape& strides_b) {
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

}  // namespace

Tensor unary(const UnaryKernels& kernels, const Tensor& input) {
  check_floating(kernels.name, {&input});
  if (!input.device().is_cpu()) return device_kernel(kernels.name, &DeviceOp::unary, input)(input);
  const Tensor x = input.contiguous();
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  visit_real(kernels.name, x, [&](auto zero) {
    using T = decltype(zero);
    parallel_ranges(x.numel(), grain, [&](int64_t begin, int64_t end) {
      const T* from = x.data<T>() + begin;
      T* to = y.mutable_data<T>() + begin;
      if constexpr (std::is_same_v<T, double>) kernels.forward_f64(from, to, end - begin);
      else if (reference_only()) kernels.forward_reference_f32(from, to, end - begin);
      else kernels.forward_f32(from, to, end - begin);
    });
  });
  return y;
}

Tensor unary_grad(const UnaryKernels& kernels, const Tensor& dy_in, const Tensor& x_in, const Tensor& y_in) {
  if (!dy_in.device().is_cpu()) return device_kernel(kernels.name, &DeviceOp::unary_grad, dy_in)(dy_in, x_in, y_in);
  const Tensor dy = dy_in.contiguous();
  const Tensor x = x_in.defined() ? x_in.contiguous() : x_in, y = y_in.defined() ? y_in.contiguous() : y_in;
  Tensor dx = Tensor::empty(dy.shape(), dy.dtype());
  visit_real(kernels.name, dy, [&](auto zero) {
    using T = decltype(zero);
    parallel_ranges(dy.numel(), grain, [&](int64_t i, int64_t end) {
      const T *from = dy.data<T>() + i, *px = at<T>(x, i), *py = at<T>(y, i);
      T* to = dx.mutable_data<T>() + i;
      if constexpr (std::is_same_v<T, double>) kernels.grad_f64(from, px, py, to, end - i);
      else if (reference_only()) kernels.grad_reference_f32(from, px, py, to, end - i);
      else kernels.grad_f32(from, px, py, to, end - i);
    });
  });
  return dx;
}

Tensor binary(const BinaryKernels& kernels, const Tensor& a_in, const Tensor& b_in) {
  check_floating(kernels.name, {&a_in, &b_in});
  const Shape shape = broadcast(kernels.name, a_in.shape(), b_in.shape());
  if (!a_in.device().is_cpu()) return device_kernel(kernels.name, &DeviceOp::binary, a_in)(a_in, b_in, shape);
  const Tensor a = a_in.contiguous(), b = b_in.contiguous();
  Tensor y = Tensor::empty(shape, a.dtype());
  if (y.numel() == 0) return y;
  const Walk walk(shape, walk_strides(a, shape), walk_strides(b, shape));
  const int last = walk.shape.rank() - 1;
  const int64_t n = walk.shape[last], runs = walk.shape.numel(0, last);
  visit_real(kernels.name, a, [&](auto zero) {
    using T = decltype(zero);
    const auto forward = [&](const T* pa, int64_t sa, const T* pb, int64_t sb, T* py, int64_t count) {
      if constexpr (std::is_same_v<T, double>) kernels.forward_f64(pa, sa, pb, sb, py, count);
      else if (reference_only()) kernels.forward_reference_f32(pa, sa, pb, sb, py, count);
      else kernels.forward_f32(pa, sa, pb, sb, py, count);
    };
    // Long runs are cut within, short ones are taken many at a time: the cut depends on the shape alone.
    const int64_t pieces = (n + grain - 1) / grain, per_task = std::max<int64_t>(1, grain / n);
    parallel_ranges(runs * pieces, per_task, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t run = task / pieces, first = task % pieces * grain, count = std::min(grain, n - first);
        int64_t rest = run, ia = first * walk.a[last], ib = first * walk.b[last];
        for (int axis = last - 1; axis >= 0; --axis) {
          const int64_t i = rest % walk.shape[axis];
          rest /= walk.shape[axis];
          ia += i * walk.a[axis];
          ib += i * walk.b[axis];
        }
        forward(a.data<T>() + ia, walk.a[last], b.data<T>() + ib, walk.b[last], y.mutable_data<T>() + run * n + first,
                count);
      }
    });
  });
  return y;
}

}  // namespace headroom::engine
