#include "engine/ops/matmul/matmul.h"

#include <cstddef>
#include <utility>

#include "engine/cuda/blas.h"
#include "engine/cuda/padded_product.h"
#include "engine/cuda/table.h"

namespace headroom::engine::cuda {
namespace {

/// A stack of matrices as the library takes them: rows of stride 1, or columns of stride 1 (then `transposed` is
/// flipped), one distance between neighbours.
struct Stack {
  Tensor x;  ///< keeps a copy alive
  bool transposed;
  int64_t row = 0, step = 0;

  Stack(const Tensor& operand, bool transpose, const Shape& batch) : x(operand), transposed(transpose) {
    if (!lies_well() || !steps_well(batch)) {
      Shape all = x.shape().numel(0, x.rank() - 2) == 1 ? Shape{} : batch;  // (batch…, rows, columns)
      all.push_back(x.dim(-2));
      all.push_back(x.dim(-1));
      x = (all.rank() == 2 ? x.reshape(all) : x.expand(all)).contiguous();
      row = x.dim(-1);
      step = all.rank() == 2 ? 0 : x.dim(-2) * x.dim(-1);
      transposed = transpose;
    }
  }

 private:
  bool lies_well() {
    const auto fits = [&](int rows, int columns) {
      return (x.strides()[columns] == 1 || x.dim(columns) == 1) && x.strides()[rows] >= x.dim(columns);
    };
    if (fits(-2, -1)) {
      row = x.strides()[-2];
      return true;
    }
    if (!fits(-1, -2)) return false;
    row = x.strides()[-1];
    transposed = !transposed;
    return true;
  }

  /// True if the stack is one matrix, or the whole batch's with equal distances.
  bool steps_well(const Shape& batch) {
    const int axes = x.rank() - 2;
    const int64_t matrices = x.shape().numel(0, axes);
    if (matrices == 1) return true;
    if (matrices != batch.numel()) return false;
    int64_t want = 0;
    for (int axis = axes - 1; axis >= 0; --axis) {
      if (x.dim(axis) == 1) continue;
      if (want == 0) want = step = x.strides()[axis];
      if (x.strides()[axis] != want) return false;
      want *= x.dim(axis);
    }
    return step >= 0;
  }
};

/// (…, M, K) as one (…·M, K), where it is no copy.
bool fold(MatmulCall& c) {
  const Shape& shape = c.y.shape();
  if (c.transpose_a || shape.rank() == 2 || c.a.rank() != shape.rank() || !c.a.is_contiguous()) return false;
  if (c.b.shape().numel(0, c.b.rank() - 2) != 1) return false;
  const int64_t rows = shape.numel(0, shape.rank() - 1);
  if (c.a.shape().numel(0, c.a.rank() - 1) != rows) return false;
  c.a = c.a.reshape({rows, c.a.dim(-1)});
  c.b = c.b.reshape({c.b.dim(-2), c.b.dim(-1)});
  return true;
}

void run(MatmulCall& c) {
  const int64_t k = c.a.dim(c.transpose_a ? -2 : -1);
  if (k == 0) {
    copy_inplace(c.y, c.added.defined() ? c.added : Tensor::zeros(c.y.shape(), c.y.dtype(), c.y.device()));
    return;
  }
  const bool is_folded = fold(c);
  const int64_t m = is_folded ? c.a.dim(0) : c.y.dim(-2), n = c.y.dim(-1);
  const Shape batch = is_folded ? Shape{} : c.y.shape().without(-1).without(-1);
  const Stack left(c.a, c.transpose_a, batch), right(c.b, c.transpose_b, batch);
  BlasProduct product = blas_product(c.y.dtype(), m, n, k, left.transposed, right.transposed);
  product.batch = batch.numel();
  product.row_a = left.row;
  product.row_b = right.row;
  product.row_y = c.y.strides()[-2];
  product.step_a = left.step;
  product.step_b = right.step;
  product.adds = c.added.defined();
  BlasOperands operands{left.x.raw(), right.x.raw(), c.y.mutable_raw()};
  const Tensor added = product.adds ? c.added.contiguous() : Tensor();
  if (product.adds) operands.added = added.raw();
  if (left.x.rank() == 2 && right.x.rank() == 2) {
    // Columns of stride 1 are the rows of the matrix as it is stored.
    const auto stored = [](const Stack& side, bool transpose) {
      return side.transposed == transpose ? side.x : side.x.transpose(0, 1);
    };
    const ProductTensors tensors{stored(left, c.transpose_a),
                                 stored(right, c.transpose_b),
                                 c.y.as_rows(),
                                 {},
                                 product.adds ? added.reshape({m, n}) : Tensor()};
    if (padded_product(product, tensors)) return;
  }
  blas_matmul(product, operands);
}

}  // namespace

void register_matmul() { add_strided_kernel(matmul_op, "cublasLt", DType::f32 | DType::f64 | DType::bf16, run); }

}  // namespace headroom::engine::cuda
