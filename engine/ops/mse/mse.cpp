#include "engine/ops/mse/mse.h"

#include "engine/error.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/scale/scale.h"
#include "engine/ops/sum/sum.h"

namespace headroom::engine {
namespace {

/// prediction - target, in the target's dtype.
Tensor difference(const Tensor& prediction, const Tensor& target) {
  return sub(prediction.to(target.dtype()), target);  // (…)
}

}  // namespace

void run_mse_by_parts(MseCall& c) {
  const Tensor d = difference(c.prediction, c.target);
  c.loss = scale(sum(mul(d, d), {}, false), c.factor());  // ()
}

void run_mse_grad_by_parts(MseGradCall& c) {
  const Tensor d = difference(c.prediction, c.target);
  c.dprediction = mul(d, scale(c.dy, 2 * c.factor())).to(c.prediction.dtype());  // (…)
}

constexpr DTypeSet mse_dtypes = DType::f32 | DType::f64 | DType::bf16;
Op<MseCall> mse_op{
    "mse",
    {{.name = "by parts", .dtypes = mse_dtypes, .run = run_mse_by_parts, .is_reference = true, .takes_strided = true}}};
Op<MseGradCall> mse_grad_op{"mse_grad",
                            {{.name = "by parts",
                              .dtypes = mse_dtypes,
                              .run = run_mse_grad_by_parts,
                              .is_reference = true,
                              .takes_strided = true}}};

Tensor mse(const Tensor& prediction, const Tensor& target, bool mean) {
  MseCall call{prediction, target, mean};
  mse_op.check(call);
  require(prediction.shape() == target.shape(), "mse: shapes differ: prediction {}, target {}", prediction.shape(),
          target.shape());
  mse_op.run(call);
  return call.loss;  // ()
}

Tensor mse_grad(const Tensor& dy, const Tensor& prediction, const Tensor& target, bool mean) {
  MseGradCall call{prediction, target, dy, mean};
  mse_grad_op.check(call);
  require(dy.numel() == 1, "mse_grad: dy {} is no scalar", dy.shape());
  mse_grad_op.run(call);
  return call.dprediction;  // (…)
}

}  // namespace headroom::engine
