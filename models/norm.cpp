#include "models/norm.h"

#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::models {

NormLayer::NormLayer(Norm kind, int64_t width, double eps, const WeightScope& scope)
    : kind_(kind), width_(width), eps_(eps) {
  if (kind == Norm::none) return;
  weight_ = add_parameter("weight", scope.constant("weight", {width}, 1), false);
  if (kind == Norm::layer_norm) bias_ = add_parameter("bias", scope.constant("bias", {width}, 0), false);
}

Var NormLayer::forward(const Var& x) const {
  if (kind_ == Norm::none) return x;
  return located([&] {
    return kind_ == Norm::layer_norm ? autograd::layer_norm(x, weight_, bias_, eps_)
                                     : autograd::rms_norm(x, weight_, eps_);
  });
}

std::pair<Var, Var> NormLayer::forward(const Var& x, const Var& residual, const engine::Dropout& dropout) const {
  return located([&]() -> std::pair<Var, Var> {
    if (kind_ == Norm::layer_norm) return autograd::add_layer_norm(x, residual, weight_, bias_, eps_, dropout);
    if (kind_ == Norm::rms_norm) return autograd::add_rms_norm(x, residual, weight_, eps_, dropout);
    const Var sum = autograd::add_dropped(x, residual, dropout);  // (…, C)
    return {sum, sum};
  });
}

std::string NormLayer::describe() const {
  return kind_ == Norm::none ? "none" : fmt::format("{} {}, eps {:g}", name_of(kind_), width_, eps_);
}

}  // namespace headroom::models
