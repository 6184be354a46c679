#include "models/embedding.h"

#include "engine/error.h"

namespace headroom::models {

Embedding::Embedding(int64_t vocab, int64_t width, double std, const WeightScope& scope)
    : dtype_(scope.dtype()), weight_(add_weight("weight", scope.table("weight", vocab, width, std), true)) {}

Var Embedding::forward(const Tensor& tokens) const {
  return located([&] { return weight_.rows(tokens, dtype_); });
}

Var Embedding::as_readout(const Var& x) const {
  return located([&] { return weight_.linear(x, {}, true); });
}

std::string Embedding::describe() const {
  return fmt::format("embedding {} -> {}{}", weight_.out(), weight_.in(), weight_.describe());
}

}  // namespace headroom::models
