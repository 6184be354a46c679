#include "engine/ops/mse/mse.h"

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/ops/elementwise/unary.h"

namespace headroom::autograd {

Var mse(const Var& prediction, const Var& target, Reduction reduction) {
  require(prediction.defined() && target.defined(), "mse: prediction {}, target {}", prediction.value(),
          target.value());
  const bool mean = reduction == Reduction::mean;
  const Var wanted = cast(target, engine::statistic_dtype(prediction.value().dtype()));
  return record(
      "mse", engine::mse(prediction.value(), wanted.value(), mean), {prediction, wanted},
      [](const Tensor& dy, const Needs& needs, const Tensor& kept_prediction, const Tensor& kept_target,
         bool kept_mean) -> std::vector<Tensor> {
        const Tensor g = engine::mse_grad(dy, kept_prediction, kept_target, kept_mean);
        return {needs[0] ? g : Tensor(), needs[1] ? engine::neg(g).to(kept_target.dtype()) : Tensor()};
      },
      saved("prediction", prediction), saved("target", wanted), mean);
}

}  // namespace headroom::autograd
