#include "engine/ops/matmul/matmul.h"

#include "autograd/ops.h"
#include "autograd/product_operand.h"

namespace headroom::autograd {

Var matmul(const Var& a, const Var& b, bool transpose_a, bool transpose_b) {
  const Tensor a_in = product_operand(a.value()), b_in = product_operand(b.value());
  return record(
      "matmul", engine::matmul(a_in, b_in, transpose_a, transpose_b), {a, b},
      [](const Tensor& dy, const Needs& needs, const Tensor& kept_a, const Tensor& kept_b, bool kept_transpose_a,
         bool kept_transpose_b) -> std::vector<Tensor> {
        const auto grad = engine::matmul_grad(product_operand(dy), kept_a, kept_b, kept_transpose_a, kept_transpose_b,
                                              needs[0], needs[1]);
        return {grad.da, grad.db};
      },
      saved("a", a_in), saved("b", b_in), transpose_a, transpose_b);
}

}  // namespace headroom::autograd
