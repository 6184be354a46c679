#include "autograd/product_operand.h"

namespace headroom::autograd {

engine::Tensor product_operand(const engine::Tensor& x) {
  const bool rounds =
      engine::context().precision == engine::Precision::bf16 && x.defined() && x.dtype() == engine::DType::f32;
  return rounds ? x.to(engine::DType::bf16).to(engine::DType::f32) : x;
}

}  // namespace headroom::autograd
