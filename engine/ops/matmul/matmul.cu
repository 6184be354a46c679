#include "engine/ops/matmul/matmul.h"

#include "engine/cuda/blas.h"
#include "engine/device_op.h"

namespace headroom::engine::cuda {
namespace {

/// One matrix for all products, or one for each: contiguous (batch, rows, columns), and the step to the next.
struct Stack {
  Tensor x;
  int64_t step;

  Stack(const Tensor& operand, const Shape& batch) : x(operand.contiguous()), step(x.dim(-2) * x.dim(-1)) {
    const int64_t matrices = x.shape().numel(0, x.rank() - 2);
    if (matrices == 1) {
      step = 0;
    } else if (matrices != batch.numel()) {
      Shape all = batch;  // (batch…, rows, columns)
      all.push_back(x.dim(-2));
      all.push_back(x.dim(-1));
      x = x.expand(all).contiguous();
    }
  }
};

Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b, const Shape& shape) {
  const int64_t k = a.dim(transpose_a ? -2 : -1);
  if (k == 0 || shape.numel() == 0) return Tensor::zeros(shape, a.dtype(), a.device());
  const Tensor y = Tensor::empty(shape, a.dtype(), a.device());  // (batch…, M, N)
  const Shape batch = shape.without(-1).without(-1);
  const Stack left(a, batch), right(b, batch);
  blas_matmul({y.dtype(), shape[-2], shape[-1], k, batch.numel(), transpose_a, transpose_b, left.step, right.step},
              left.x.raw(), right.x.raw(), y.mutable_raw());
  return y;
}

}  // namespace

void register_matmul() { register_device_op("matmul", {.matmul = matmul}); }

}  // namespace headroom::engine::cuda
