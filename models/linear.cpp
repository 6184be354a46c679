#include "models/linear.h"

#include "autograd/ops.h"

namespace headroom::models {

Linear::Linear(int64_t in, int64_t out, bool bias, const Initializer& init, bool ends_branch) {
  weight_ = add_parameter("weight", init.weight(out, in, ends_branch), true);
  if (bias) bias_ = add_parameter("bias", init.bias(out, in), false);
}

Var Linear::forward(const Var& x) const {
  return located([&] { return autograd::linear(x, weight_, bias_); });
}

std::string Linear::describe() const {
  return fmt::format("linear {} -> {}{}", weight_.dim(1), weight_.dim(0), bias_.defined() ? ", bias" : "");
}

}  // namespace headroom::models
