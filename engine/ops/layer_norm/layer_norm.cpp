#include "engine/ops/layer_norm/layer_norm.h"

#include <cmath>

#include "engine/error.h"
#include "engine/ops/rows/norm.h"
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

NormRows operands_of(LayerNormCall& c) {
  return {c.x, c.weight, c.bias, c.added, c.y, c.mean, c.inv_std, c.sum, c.eps};
}
NormGradRows operands_of(LayerNormGradCall& c) {
  return {c.dy, c.x, c.weight, c.mean, c.inv_std, c.added, c.dx, c.want_parameters, c.dweight, &c.dbias};
}

}  // namespace

Op<LayerNormCall> layer_norm_op{
    "layer_norm", kernel_and_loops<LayerNormCall>(
                      kernel::layer_norm_rows.levels(),
                      [](LayerNormCall& c) { run_norm<float>(operands_of(c), kernel::layer_norm_rows.best()); },
                      [](LayerNormCall& c) { run_norm<float>(operands_of(c), forward_loop); },
                      [](LayerNormCall& c) { run_norm<double>(operands_of(c), forward_loop); },
                      [](LayerNormCall& c) { run_norm_widened(operands_of(c), kernel::layer_norm_rows.best()); })};

Op<LayerNormGradCall> layer_norm_grad_op{
    "layer_norm_grad",
    kernel_and_loops<LayerNormGradCall>(
        kernel::layer_norm_grad_rows.levels(),
        [](LayerNormGradCall& c) { run_norm_grad<float>(operands_of(c), kernel::layer_norm_grad_rows.best()); },
        [](LayerNormGradCall& c) { run_norm_grad<float>(operands_of(c), grad_loop); },
        [](LayerNormGradCall& c) { run_norm_grad<double>(operands_of(c), grad_loop); },
        [](LayerNormGradCall& c) { run_norm_grad_widened(operands_of(c), kernel::layer_norm_grad_rows.best()); })};

LayerNorm layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, const Tensor& added,
                     const Dropout& dropout) {
  LayerNormCall call{x, weight, bias, eps, added, dropout};
  layer_norm_op.check(call);
  check_norm("layer_norm", x, weight, eps, added);
  if (bias.defined()) check_width("layer_norm", "bias", bias, x);
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
