#include "engine/ops/matmul/matmul.h"

#include "engine/cuda/blas.h"

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

void run(MatmulCall& c) {
  const Shape& shape = c.y.shape();  // (batch…, M, N)
  const int64_t k = c.a.dim(c.transpose_a ? -2 : -1);
  if (k == 0) {
    copy_inplace(c.y, Tensor::zeros(shape, c.y.dtype(), c.y.device()));
    return;
  }
  const Shape batch = shape.without(-1).without(-1);
  const Stack left(c.a, batch), right(c.b, batch);
  blas_matmul(
      {c.y.dtype(), shape[-2], shape[-1], k, batch.numel(), c.transpose_a, c.transpose_b, left.step, right.step},
      left.x.raw(), right.x.raw(), c.y.mutable_raw());
}

}  // namespace

void register_matmul() {
  matmul_op.add({.name = "cublasLt",
                 .dtypes = DType::f32 | DType::f64,
                 .run = run,
                 .takes_strided = true,
                 .device = Device::Kind::cuda});
}

}  // namespace headroom::engine::cuda
