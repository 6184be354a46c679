#include "engine/ops/linear/linear.h"

#include "engine/backend.h"
#include "engine/cpu/gemm.h"
#include "engine/error.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/sum/sum.h"

namespace headroom::engine {
namespace {

/// (…, C) as (rows, C).
Tensor as_rows(const Tensor& x) { return x.reshape({x.shape().numel(0, x.rank() - 1), x.dim(-1)}).contiguous(); }

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_floating("linear", {&x, &weight});
  if (bias.defined()) check_floating("linear", {&x, &bias});
  require(x.rank() >= 1 && weight.rank() == 2 && x.dim(-1) == weight.dim(1),
          "linear: x (…, in) does not fit weight (out, in): x {}, weight {}", x.shape().str(), weight.shape().str());
  const int64_t in = weight.dim(1), out = weight.dim(0);
  require(!bias.defined() || bias.shape() == Shape{out}, "linear: bias {} does not fit weight (out, in) {}",
          bias.shape().str(), weight.shape().str());
  const Tensor rows = as_rows(x), w = weight.contiguous();             // (rows, in), (out, in)
  const Tensor b = bias.defined() ? bias.contiguous() : Tensor();      // (out)
  const Tensor y = Tensor::empty(x.shape().with(-1, out), x.dtype());  // (…, out)
  visit_real("linear", x, [&](auto zero) {
    using T = decltype(zero);
    gemm(MatrixProduct<T>{rows.dim(0),
                          out,
                          in,
                          {rows.data<T>(), in},
                          {w.data<T>(), in, true},
                          y.mutable_data<T>(),
                          out,
                          b.defined() ? b.data<T>() : nullptr});
  });
  return y;
}

LinearGrad linear_grad(const Tensor& dy, const Tensor& x, const Tensor& weight, bool need_x, bool need_weight,
                       bool need_bias) {
  LinearGrad grad;
  const Tensor dy_rows = as_rows(dy);  // (rows, out)
  if (need_x) grad.dx = matmul(dy_rows, weight).reshape(x.shape());
  if (need_weight) grad.dweight = matmul(dy_rows, as_rows(x), true);  // (out, in)
  if (need_bias) grad.dbias = sum(dy_rows, {0}, false);               // (out)
  return grad;
}

}  // namespace headroom::engine
