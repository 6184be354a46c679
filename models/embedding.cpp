#include "models/embedding.h"

#include "autograd/ops.h"

namespace headroom::models {

Embedding::Embedding(int64_t vocab, int64_t width, const Initializer& init)
    : weight_(add_parameter("weight", init.normal({vocab, width}, init.scheme().embedding_std), true)) {}

Var Embedding::forward(const Tensor& tokens) const {
  return located([&] { return autograd::embedding(weight_, tokens); });
}

std::string Embedding::describe() const { return fmt::format("embedding {} -> {}", weight_.dim(0), weight_.dim(1)); }

}  // namespace headroom::models
