#include "engine/ops/rms_norm/rms_norm.h"

#include <cmath>

#include "engine/cpu/widened.h"
#include "engine/error.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/rms_norm/rms_norm_kernel.h"
#include "engine/ops/rows/row_sums.h"
#include "engine/ops/rows/wide_moments.h"

namespace headroom::engine {
namespace {

template <class T>
void forward_loop(const T* x, const T* w, T* y, T* inv_rms, int64_t rows, int64_t n, T eps) {
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    T squares = 0;
    for (int64_t i = 0; i < n; ++i) squares += x[i] * x[i];
    inv_rms[r] = 1 / std::sqrt(squares / static_cast<T>(n) + eps);
    if (!moments_are_safe(squares / static_cast<T>(n) + eps)) {
      T zero = 0;
      wide_moments<WiderThan<T>>(x, n, eps, false, zero, inv_rms[r]);
    }
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * inv_rms[r] * w[i];
  }
}

template <class T>
void grad_loop(const T* dy, const T* x, const T* w, const T* inv_rms, T* dx, T* dw, int64_t rows, int64_t n) {
  if (dw) std::fill(dw, dw + n, T(0));
  for (int64_t r = 0; r < rows; ++r, dy += n, x += n) {
    T dot = 0;
    for (int64_t i = 0; i < n; ++i) {
      const T normed = x[i] * inv_rms[r];
      dot += dy[i] * w[i] * normed;
      if (dw) dw[i] += dy[i] * normed;
    }
    if (!dx) continue;
    for (int64_t i = 0; i < n; ++i)
      dx[r * n + i] = (dy[i] * w[i] - x[i] * inv_rms[r] * dot / static_cast<T>(n)) * inv_rms[r];
  }
}

template <class T>
using Loop = void (*)(const T* x, const T* w, T* y, T* inv_rms, int64_t rows, int64_t n, T eps);
template <class T>
using GradLoop = void (*)(const T* dy, const T* x, const T* w, const T* inv_rms, T* dx, T* dw, int64_t rows, int64_t n);

template <class T>
void run(RmsNormCall& c, Loop<T> loop) {
  const Rows rows = rows_of("rms_norm", c.x);
  if (c.added.defined()) c.sum = add(c.x, c.added);
  const T *x = (c.added.defined() ? c.sum : c.x).data<T>(), *w = c.weight.data<T>();
  T *y = c.y.mutable_data<T>(), *inv_rms = c.inv_rms.mutable_data<T>();
  parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
    const int64_t first = begin * rows.width;
    loop(x + first, w, y + first, inv_rms + begin, end - begin, rows.width, static_cast<T>(c.eps));
  });
}

template <class T>
void run_grad(RmsNormGradCall& c, GradLoop<T> loop) {
  const Rows rows = rows_of("rms_norm", c.x);
  const int64_t n = rows.width;
  const T *dy = c.dy.data<T>(), *x = c.x.data<T>(), *w = c.weight.data<T>(), *inv_rms = c.inv_rms.data<T>();
  T* dx = c.want_dx ? c.dx.mutable_data<T>() : nullptr;
  const Tensor total =
      sum_over_rows<T>(rows, c.want_weight ? 1 : 0, [&](int64_t begin, int64_t count, T* dw) {  // (1, C)
        const int64_t first = begin * n;
        loop(dy + first, x + first, w, inv_rms + begin, dx ? dx + first : nullptr, dw, count, n);
      });
  if (dx && c.added.defined()) add_inplace(c.dx, c.added);
  if (c.want_weight) c.dweight = total.reshape({n});
}

/// In bf16 by the f32 kernel, a few rows at a time; 1/rms is f32.
void run_widened(RmsNormCall& c) {
  const Rows rows = rows_of("rms_norm", c.x);
  const int64_t n = rows.width;
  if (c.added.defined()) c.sum = add(c.x, c.added);
  const Tensor weight = c.weight.to(DType::f32);
  const bf16* x = (c.added.defined() ? c.sum : c.x).data<bf16>();
  bf16* y = c.y.mutable_data<bf16>();
  const float* w = weight.data<float>();
  float* inv_rms = c.inv_rms.mutable_data<float>();
  parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
    const WidenedBlocks f32(2, widened_rows(n) * n);
    for_each_block(
        begin, end,
        [&](int64_t row, int64_t count) {
          kernel::rms_norm_rows(f32.widen(0, x + row * n, count * n), w, f32[1], inv_rms + row, count, n,
                                static_cast<float>(c.eps));
          f32.narrow(1, y + row * n, count * n);
        },
        widened_rows(n));
  });
}

/// dweight is summed in f32 and rounded once.
void run_grad_widened(RmsNormGradCall& c) {
  const Rows rows = rows_of("rms_norm", c.x);
  const int64_t n = rows.width, block = widened_rows(n);
  const bf16 *dy = c.dy.data<bf16>(), *x = c.x.data<bf16>();
  const Tensor weight = c.weight.to(DType::f32);
  const float *w = weight.data<float>(), *inv_rms = c.inv_rms.data<float>();
  bf16* dx = c.want_dx ? c.dx.mutable_data<bf16>() : nullptr;
  const Tensor total =
      sum_over_rows<float>(rows, c.want_weight ? 1 : 0, [&](int64_t begin, int64_t count, float* sums) {  // (1, C)
        const WidenedBlocks f32(4, block * n);
        if (sums) std::fill(sums, sums + n, 0.0f);
        for_each_block(
            begin, begin + count,
            [&](int64_t row, int64_t m) {
              const int64_t first = row * n;
              float* const part = sums ? f32[3] : nullptr;
              kernel::rms_norm_grad_rows(f32.widen(0, dy + first, m * n), f32.widen(1, x + first, m * n), w,
                                         inv_rms + row, dx ? f32[2] : nullptr, part, m, n);
              if (dx) f32.narrow(2, dx + first, m * n);
              for (int64_t i = 0; sums && i < n; ++i) sums[i] += part[i];
            },
            block);
      });
  if (dx && c.added.defined()) add_inplace(c.dx, c.added);
  if (c.want_weight) c.dweight = total.reshape({n}).to(DType::bf16);
}

}  // namespace

Op<RmsNormCall> rms_norm_op{
    "rms_norm", kernel_and_loops<RmsNormCall>(
                    kernel::rms_norm_rows.levels(), [](RmsNormCall& c) { run<float>(c, kernel::rms_norm_rows.best()); },
                    [](RmsNormCall& c) { run<float>(c, forward_loop); },
                    [](RmsNormCall& c) { run<double>(c, forward_loop); }, run_widened)};

Op<RmsNormGradCall> rms_norm_grad_op{
    "rms_norm_grad", kernel_and_loops<RmsNormGradCall>(
                         kernel::rms_norm_grad_rows.levels(),
                         [](RmsNormGradCall& c) { run_grad<float>(c, kernel::rms_norm_grad_rows.best()); },
                         [](RmsNormGradCall& c) { run_grad<float>(c, grad_loop); },
                         [](RmsNormGradCall& c) { run_grad<double>(c, grad_loop); }, run_grad_widened)};

RmsNorm rms_norm(const Tensor& x, const Tensor& weight, double eps, const Tensor& added, const Dropout& dropout) {
  RmsNormCall call{x, weight, eps, added, dropout};
  rms_norm_op.check(call);
  rows_of("rms_norm", x);
  check_width("rms_norm", "weight", weight, x);
  require(std::isfinite(eps) && eps >= 0, "rms_norm: eps = {} is not finite and at least 0: x {}", eps, x);
  if (added.defined() && added.shape() != x.shape())
    fail("rms_norm: added {} does not fit x {}", added.shape().str(), x.shape().str());
  if (added.defined()) leave_dropout("rms_norm", call.added, call.dropout);
  call.y = Tensor::empty(x.shape(), x.dtype(), x.device());                                     // (…, C)
  call.inv_rms = Tensor::empty(x.shape().without(-1), statistic_dtype(x.dtype()), x.device());  // (…)
  if (x.numel() > 0) rms_norm_op.run(call);
  return {call.y, call.inv_rms, call.sum.defined() ? call.sum : x};
}

RmsNormGrad rms_norm_grad(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& inv_rms, bool want_dx,
                          bool want_weight, const Tensor& added, const Tensor& place) {
  RmsNormGradCall call{dy, x, weight, inv_rms, want_dx, want_weight, added};
  if (want_weight) call.dweight = place;
  rms_norm_grad_op.check(call);
  rows_of("rms_norm_grad", x);
  check_width("rms_norm_grad", "weight", weight, x);
  const Shape rows = x.shape().without(-1);
  require(dy.shape() == x.shape() && inv_rms.shape() == rows, "rms_norm_grad: dy {} and inv_rms {} do not fit x {}",
          dy.shape(), inv_rms.shape(), x.shape());
  require(!added.defined() || added.shape() == x.shape(), "rms_norm_grad: added {} does not fit x {}", added,
          x.shape());
  if (want_dx) call.dx = Tensor::empty(x.shape(), x.dtype(), x.device());  // (…, C)
  if (x.numel() > 0) rms_norm_grad_op.run(call);
  else if (want_weight) call.dweight = Tensor::zeros({x.dim(-1)}, x.dtype(), x.device());  // (C)
  return {call.dx, call.dweight};
}

}  // namespace headroom::engine
