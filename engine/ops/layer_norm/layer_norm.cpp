#include "engine/ops/layer_norm/layer_norm.h"

#include <cmath>

#include "engine/cpu/widened.h"
#include "engine/error.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/layer_norm/layer_norm_kernel.h"
#include "engine/ops/rows/row_sums.h"
#include "engine/ops/rows/wide_moments.h"

namespace headroom::engine {
namespace {

template <class T>
void forward_loop(const T* x, const T* w, const T* b, T* y, T* mean, T* inv_std, int64_t rows, int64_t n, T eps) {
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    T total = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) total += x[i];
    mean[r] = total / static_cast<T>(n);
    for (int64_t i = 0; i < n; ++i) squares += (x[i] - mean[r]) * (x[i] - mean[r]);
    inv_std[r] = 1 / std::sqrt(squares / static_cast<T>(n) + eps);
    if (!moments_are_safe(squares / static_cast<T>(n) + eps))
      wide_moments<WiderThan<T>>(x, n, eps, true, mean[r], inv_std[r]);
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean[r]) * inv_std[r] * w[i] + (b ? b[i] : 0);
  }
}

template <class T>
void grad_loop(const T* dy, const T* x, const T* w, const T* mean, const T* inv_std, T* dx, T* dw, T* db, int64_t rows,
               int64_t n) {
  for (T* to : {dw, db})
    if (to) std::fill(to, to + n, T(0));
  for (int64_t r = 0; r < rows; ++r, dy += n, x += n) {
    T g_sum = 0, dot = 0;
    for (int64_t i = 0; i < n; ++i) {
      const T normed = (x[i] - mean[r]) * inv_std[r];
      g_sum += dy[i] * w[i];
      dot += dy[i] * w[i] * normed;
      if (dw) dw[i] += dy[i] * normed;
      if (db) db[i] += dy[i];
    }
    if (!dx) continue;
    for (int64_t i = 0; i < n; ++i) {
      const T normed = (x[i] - mean[r]) * inv_std[r];
      dx[r * n + i] = (dy[i] * w[i] - (g_sum + normed * dot) / static_cast<T>(n)) * inv_std[r];
    }
  }
}

template <class T>
using Loop = void (*)(const T* x, const T* w, const T* b, T* y, T* mean, T* inv_std, int64_t rows, int64_t n, T eps);
template <class T>
using GradLoop = void (*)(const T* dy, const T* x, const T* w, const T* mean, const T* inv_std, T* dx, T* dw, T* db,
                          int64_t rows, int64_t n);

template <class T>
void run(LayerNormCall& c, Loop<T> loop) {
  const Rows rows = rows_of("layer_norm", c.x);
  if (c.added.defined()) c.sum = add(c.x, c.added);
  const T *x = (c.added.defined() ? c.sum : c.x).data<T>(), *w = c.weight.data<T>(), *b = c.bias.data_or_null<T>();
  T *y = c.y.mutable_data<T>(), *mean = c.mean.mutable_data<T>(), *inv_std = c.inv_std.mutable_data<T>();
  parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
    const int64_t first = begin * rows.width;
    loop(x + first, w, b, y + first, mean + begin, inv_std + begin, end - begin, rows.width, static_cast<T>(c.eps));
  });
}

template <class T>
void run_grad(LayerNormGradCall& c, GradLoop<T> loop) {
  const Rows rows = rows_of("layer_norm", c.x);
  const int64_t n = rows.width;
  const T *dy = c.dy.data<T>(), *x = c.x.data<T>(), *w = c.weight.data<T>();
  const T *mean = c.mean.data<T>(), *inv_std = c.inv_std.data<T>();
  T* dx = c.want_dx ? c.dx.mutable_data<T>() : nullptr;
  const Tensor total =
      sum_over_rows<T>(rows, c.want_parameters ? 2 : 0, [&](int64_t begin, int64_t count, T* dw) {  // (2, C)
        const int64_t first = begin * n;
        loop(dy + first, x + first, w, mean + begin, inv_std + begin, dx ? dx + first : nullptr, dw,
             dw ? dw + n : nullptr, count, n);
      });
  if (dx && c.added.defined()) add_inplace(c.dx, c.added);
  if (!c.want_parameters) return;
  c.dweight = total.slice(0, 0, 1).reshape({n});
  c.dbias = total.slice(0, 1, 2).reshape({n});
}

/// In bf16 by the f32 kernel, a few rows at a time; mean and 1/std are f32.
void run_widened(LayerNormCall& c) {
  const Rows rows = rows_of("layer_norm", c.x);
  const int64_t n = rows.width;
  if (c.added.defined()) c.sum = add(c.x, c.added);
  const Tensor weight = c.weight.to(DType::f32), bias = c.bias.defined() ? c.bias.to(DType::f32) : Tensor();
  const bf16* x = (c.added.defined() ? c.sum : c.x).data<bf16>();
  bf16* y = c.y.mutable_data<bf16>();
  const float *w = weight.data<float>(), *b = bias.data_or_null<float>();
  float *mean = c.mean.mutable_data<float>(), *inv_std = c.inv_std.mutable_data<float>();
  parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
    const WidenedBlocks f32(2, widened_rows(n) * n);
    for_each_block(
        begin, end,
        [&](int64_t row, int64_t count) {
          kernel::layer_norm_rows(f32.widen(0, x + row * n, count * n), w, b, f32[1], mean + row, inv_std + row, count,
                                  n, static_cast<float>(c.eps));
          f32.narrow(1, y + row * n, count * n);
        },
        widened_rows(n));
  });
}

/// dweight and dbias are summed in f32 and rounded once.
void run_grad_widened(LayerNormGradCall& c) {
  const Rows rows = rows_of("layer_norm", c.x);
  const int64_t n = rows.width, block = widened_rows(n);
  const bf16 *dy = c.dy.data<bf16>(), *x = c.x.data<bf16>();
  const Tensor weight = c.weight.to(DType::f32);
  const float *w = weight.data<float>(), *mean = c.mean.data<float>(), *inv_std = c.inv_std.data<float>();
  bf16* dx = c.want_dx ? c.dx.mutable_data<bf16>() : nullptr;
  const Tensor total =
      sum_over_rows<float>(rows, c.want_parameters ? 2 : 0, [&](int64_t begin, int64_t count, float* sums) {  // (2, C)
        const WidenedBlocks f32(4, std::max<int64_t>(block, 2) * n);
        if (sums) std::fill(sums, sums + 2 * n, 0.0f);
        for_each_block(
            begin, begin + count,
            [&](int64_t row, int64_t m) {
              const int64_t first = row * n;
              float* const part = sums ? f32[3] : nullptr;
              kernel::layer_norm_grad_rows(f32.widen(0, dy + first, m * n), f32.widen(1, x + first, m * n), w,
                                           mean + row, inv_std + row, dx ? f32[2] : nullptr, part,
                                           part ? part + n : nullptr, m, n);
              if (dx) f32.narrow(2, dx + first, m * n);
              for (int64_t i = 0; sums && i < 2 * n; ++i) sums[i] += part[i];
            },
            block);
      });
  if (dx && c.added.defined()) add_inplace(c.dx, c.added);
  if (!c.want_parameters) return;
  c.dweight = total.slice(0, 0, 1).reshape({n}).to(DType::bf16);
  c.dbias = total.slice(0, 1, 2).reshape({n}).to(DType::bf16);
}

}  // namespace

Op<LayerNormCall> layer_norm_op{
    "layer_norm",
    kernel_and_loops<LayerNormCall>(
        kernel::layer_norm_rows.levels(), [](LayerNormCall& c) { run<float>(c, kernel::layer_norm_rows.best()); },
        [](LayerNormCall& c) { run<float>(c, forward_loop); }, [](LayerNormCall& c) { run<double>(c, forward_loop); },
        run_widened)};

Op<LayerNormGradCall> layer_norm_grad_op{
    "layer_norm_grad", kernel_and_loops<LayerNormGradCall>(
                           kernel::layer_norm_grad_rows.levels(),
                           [](LayerNormGradCall& c) { run_grad<float>(c, kernel::layer_norm_grad_rows.best()); },
                           [](LayerNormGradCall& c) { run_grad<float>(c, grad_loop); },
                           [](LayerNormGradCall& c) { run_grad<double>(c, grad_loop); }, run_grad_widened)};

LayerNorm layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, const Tensor& added,
                     const Dropout& dropout) {
  LayerNormCall call{x, weight, bias, eps, added, dropout};
  layer_norm_op.check(call);
  rows_of("layer_norm", x);
  check_width("layer_norm", "weight", weight, x);
  require(std::isfinite(eps) && eps >= 0, "layer_norm: eps = {} is not finite and at least 0: x {}", eps, x);
  if (bias.defined()) check_width("layer_norm", "bias", bias, x);
  if (added.defined() && added.shape() != x.shape())
    fail("layer_norm: added {} does not fit x {}", added.shape().str(), x.shape().str());
  if (added.defined()) leave_dropout("layer_norm", call.added, call.dropout);
  call.y = Tensor::empty(x.shape(), x.dtype(), x.device());                                  // (…, C)
  call.mean = Tensor::empty(x.shape().without(-1), statistic_dtype(x.dtype()), x.device());  // (…)
  call.inv_std = Tensor::empty(call.mean.shape(), call.mean.dtype(), x.device());            // (…)
  if (x.numel() > 0) layer_norm_op.run(call);
  return {call.y, call.mean, call.inv_std, call.sum.defined() ? call.sum : x};
}

LayerNormGrad layer_norm_grad(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& mean,
                              const Tensor& inv_std, bool want_dx, bool want_parameters, const Tensor& added,
                              const LayerNormPlaces& places) {
  LayerNormGradCall call{dy, x, weight, mean, inv_std, want_dx, want_parameters, added};
  if (want_parameters) call.dweight = places.dweight, call.dbias = places.dbias;
  layer_norm_grad_op.check(call);
  rows_of("layer_norm_grad", x);
  check_width("layer_norm_grad", "weight", weight, x);
  const Shape rows = x.shape().without(-1);
  require(dy.shape() == x.shape() && mean.shape() == rows && inv_std.shape() == rows,
          "layer_norm_grad: dy {}, mean {} and inv_std {} do not fit x {}", dy.shape(), mean.shape(), inv_std.shape(),
          x.shape());
  require(!added.defined() || added.shape() == x.shape(), "layer_norm_grad: added {} does not fit x {}", added,
          x.shape());
  if (want_dx) call.dx = Tensor::empty(x.shape(), x.dtype(), x.device());  // (…, C)
  if (x.numel() > 0) layer_norm_grad_op.run(call);
  else if (want_parameters) call.dweight = call.dbias = Tensor::zeros({x.dim(-1)}, x.dtype(), x.device());  // (C)
  return {call.dx, call.dweight, call.dbias};
}

}  // namespace headroom::engine
