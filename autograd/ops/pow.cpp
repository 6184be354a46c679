#include "engine/ops/pow/pow.h"

#include "autograd/ops.h"

namespace headroom::autograd {

Var pow(const Var& a, const Var& b) {
  return record(
      "pow", engine::pow(a.value(), b.value()), {a, b},
      [](const Tensor& dy, const Needs& needs, const Tensor& kept_a, const Tensor& kept_b) -> std::vector<Tensor> {
        return {needs[0] ? engine::pow_grad_a(dy, kept_a, kept_b) : Tensor(),
                needs[1] ? engine::pow_grad_b(dy, kept_a, kept_b) : Tensor()};
      },
      saved("a", a), saved("b", b));
}

Var pow(const Var& a, double exponent) {
  return record(
      "pow", engine::pow(a.value(), exponent), {a},
      [](const Tensor& dy, const Needs&, const Tensor& kept_a, double kept_exponent) -> std::vector<Tensor> {
        return {engine::pow_grad(dy, kept_a, kept_exponent)};
      },
      saved("a", a), exponent);
}

}  // namespace headroom::autograd
