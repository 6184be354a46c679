#pragma once
#include "engine/tensor.h"

namespace headroom::autograd {

/// What the operands of matrix products are rounded to. Weights, sums and everything else stay f32.
enum class Precision { f32, bf16 };

/// While it lives, ops of this thread, and the backward passes that it runs, round f32 operands of `linear`, `matmul`
/// and `attention` to `precision` and accumulate in f32. bf16 is emulated: no CPU level has kernels of its own for it
/// yet, so it costs time instead of saving it.
class PrecisionScope {
 public:
  explicit PrecisionScope(Precision precision);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  Precision previous_;
};

/// An operand of a product, or the gradient of its result: rounded where the thread's precision asks for it, else x
/// itself. Undefined stays undefined.
engine::Tensor product_operand(const engine::Tensor& x);

}  // namespace headroom::autograd
