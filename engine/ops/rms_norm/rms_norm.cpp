#include "engine/ops/rms_norm/rms_norm.h"

#include <cmath>

#include "engine/error.h"
#include "engine/ops/rows/norm.h"
#include "engine/ops/rows/wide_moments.h"

namespace headroom::engine {
namespace {

template <class T>
void forward_loop(const T* x, const T* w, const T* /*bias*/, T* y, T* /*mean*/, T* inv_rms, int64_t rows, int64_t n,
                  T eps) {
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
void grad_loop(const T* dy, const T* x, const T* w, const T* /*mean*/, const T* inv_rms, T* dx, T* dw, T* /*dbias*/,
               int64_t rows, int64_t n) {
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

const Tensor none{};  ///< the bias and the mean

NormRows operands_of(RmsNormCall& c) { return {c.x, c.weight, none, c.added, c.y, none, c.inv_rms, c.sum, c.eps}; }
NormGradRows operands_of(RmsNormGradCall& c) {
  return {c.dy, c.x, c.weight, none, c.inv_rms, c.added, c.dx, c.want_weight, c.dweight, nullptr};
}

}  // namespace

Op<RmsNormCall> rms_norm_op{
    "rms_norm", kernel_and_loops<RmsNormCall>(
                    kernel::rms_norm_rows.levels(),
                    [](RmsNormCall& c) { run_norm<float>(operands_of(c), kernel::rms_norm_rows.best()); },
                    [](RmsNormCall& c) { run_norm<float>(operands_of(c), forward_loop); },
                    [](RmsNormCall& c) { run_norm<double>(operands_of(c), forward_loop); },
                    [](RmsNormCall& c) { run_norm_widened(operands_of(c), kernel::rms_norm_rows.best()); })};

Op<RmsNormGradCall> rms_norm_grad_op{
    "rms_norm_grad",
    kernel_and_loops<RmsNormGradCall>(
        kernel::rms_norm_grad_rows.levels(),
        [](RmsNormGradCall& c) { run_norm_grad<float>(operands_of(c), kernel::rms_norm_grad_rows.best()); },
        [](RmsNormGradCall& c) { run_norm_grad<float>(operands_of(c), grad_loop); },
        [](RmsNormGradCall& c) { run_norm_grad<double>(operands_of(c), grad_loop); },
        [](RmsNormGradCall& c) { run_norm_grad_widened(operands_of(c), kernel::rms_norm_grad_rows.best()); })};

RmsNorm rms_norm(const Tensor& x, const Tensor& weight, double eps, const Tensor& added, const Dropout& dropout) {
  RmsNormCall call{x, weight, eps, added, dropout};
  rms_norm_op.check(call);
  check_norm("rms_norm", x, weight, eps, added);
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
