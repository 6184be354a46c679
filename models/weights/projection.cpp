#include "models/weights/projection.h"

#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::models {

Projection::Projection(const ProjectionShape& s, const WeightScope& scope) {
  weight_ =
      add_weight("weight", scope.matrix("weight", s.out, s.in, s.rank, s.ends_branch, s.heads), true, s.placement);
  if (!s.bias) return;
  const int64_t in = s.in, out = s.out;
  bias_ = add_parameter("bias", scope.tensor("bias", {out}, [=](const Initializer& i) { return i.bias(out, in); }),
                        false, s.placement);
}

Projection::Projection(Weight weight, Var bias) {
  weight_ = add_weight("weight", std::move(weight), true);
  if (bias.defined()) bias_ = add_parameter("bias", std::move(bias), false);
}

Var Projection::forward(const Var& x, bool pads_rows) const {
  return located([&] { return weight_.linear(x, bias_, pads_rows); });
}

Var joint_forward(const std::vector<const Projection*>& projections, const Var& x) {
  if (x.value().device().is_cpu()) return Var();
  std::vector<Var> weights, biases;
  for (const Projection* projection : projections) {
    const auto* leaf = std::get_if<Var>(&projection->weight().form());
    if (!leaf) return Var();
    weights.push_back(*leaf);
    if (projection->bias().defined()) biases.push_back(projection->bias());
  }
  const bool biases_fit = biases.empty() || (biases.size() == weights.size() && autograd::neighbours(biases).defined());
  if (!biases_fit || !autograd::neighbours(weights).defined()) return Var();
  return autograd::joint_linear(x, weights, biases);
}

std::string Projection::describe() const {
  return fmt::format("linear {} -> {}{}{}", weight_.in(), weight_.out(), bias_.defined() ? ", bias" : "",
                     weight_.describe());
}

}  // namespace headroom::models
