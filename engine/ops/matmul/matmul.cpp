#include "engine/ops/matmul/matmul.h"

#include <vector>

#include "engine/cpu/gemm_bf16.h"
#include "engine/cpu/gemm_bf16_kernel.h"
#include "engine/cpu/gemm_kernel.h"
#include "engine/error.h"
#include "engine/ops/elementwise/binary.h"

namespace headroom::engine {
namespace {

Shape leading(const Shape& shape) { return shape.without(-1).without(-1); }

/// A stack of matrices as gemm takes them: rows of stride 1, or columns of stride 1 (then `transposed` is flipped).
struct Stack {
  Tensor x;  ///< what `transposed` and `stride` speak of; keeps a copy alive
  bool transposed;
  int64_t stride;

  Stack(const Tensor& operand, bool transpose) : x(operand), transposed(transpose) {
    const auto fits = [&](int rows, int columns) {
      return x.strides()[columns] == 1 && x.strides()[rows] >= x.dim(columns);
    };
    if (fits(-2, -1)) {
      stride = x.strides()[-2];
    } else if (fits(-1, -2)) {
      stride = x.strides()[-1];
      transposed = !transposed;
    } else {
      x = x.contiguous();
      stride = x.dim(-1);
    }
  }

  /// The offset of each matrix in the broadcast stack; empty if all are the same one.
  std::vector<int64_t> offsets(const Shape& batch) const {
    if (leading(x.shape()).numel() == 1) return {};
    std::vector<int64_t> out(static_cast<size_t>(batch.numel()));
    const int missing = batch.rank() - (x.rank() - 2);
    for (size_t i = 0; i < out.size(); ++i) {
      auto rest = static_cast<int64_t>(i);
      for (int axis = batch.rank() - 1; axis >= 0; rest /= batch[axis--])
        if (axis >= missing && x.dim(axis - missing) != 1) out[i] += rest % batch[axis] * x.strides()[axis - missing];
    }
    return out;
  }
};

/// (…, M, K) as one (…·M, K): all products with one b are a single one.
Tensor folded(const Tensor& x) { return x.reshape({leading(x.shape()).numel() * x.dim(-2), x.dim(-1)}); }

bool one_matrix(const Tensor& x) { return leading(x.shape()).numel() == 1; }

Shape leading_of_product(const Tensor& a, const Tensor& b) {
  const Shape batch_a = leading(a.shape()), batch_b = leading(b.shape());
  Shape out;
  try {
    out = broadcast("matmul", batch_a, batch_b);
  } catch (const Error&) {
    fail("matmul: leading axes do not broadcast: a {}, b {}", a.shape().str(), b.shape().str());
  }
  return out;
}

template <class T>
using Gemm = void (*)(const MatrixProduct<T>&, int64_t batch, const int64_t* a_offsets, const int64_t* b_offsets,
                      int64_t c_step);

bool folds(const MatmulCall& c) {
  return !c.transpose_a && c.a.rank() > 2 && one_matrix(c.b) && c.b.rank() <= c.a.rank();
}

/// A call as a stack of products; those with one b are a single one.
struct Stacks {
  Tensor y;
  Stack left, right;
  Shape batch;
  std::vector<int64_t> offsets_a, offsets_b;
  int64_t m, n, k;

  explicit Stacks(const MatmulCall& c) : Stacks(c, folds(c)) {}
  const int64_t* a_offsets() const { return offsets_a.empty() ? nullptr : offsets_a.data(); }
  const int64_t* b_offsets() const { return offsets_b.empty() ? nullptr : offsets_b.data(); }

 private:
  Stacks(const MatmulCall& c, bool folds)
      : y(folds ? c.y.reshape({c.y.shape().numel(0, c.y.rank() - 1), c.y.dim(-1)}) : c.y),  // (…·M, N)
        left(folds ? folded(c.a) : c.a, c.transpose_a),                                     // (…·M, K)
        right(folds ? c.b.reshape({c.b.dim(-2), c.b.dim(-1)}) : c.b, c.transpose_b),        // (K, N), or (N, K)
        batch(leading(y.shape())),
        offsets_a(left.offsets(batch)),
        offsets_b(right.offsets(batch)),
        m(y.dim(-2)),
        n(y.dim(-1)),
        k(c.a.dim(c.transpose_a ? -2 : -1)) {}
};

template <class T>
void run(MatmulCall& c, Gemm<T> product) {
  const Stacks s(c);
  product({s.m,
           s.n,
           s.k,
           {s.left.x.data<T>(), s.left.stride, s.left.transposed},
           {s.right.x.data<T>(), s.right.stride, s.right.transposed},
           s.y.mutable_data<T>(),
           s.n},
          s.batch.numel(), s.a_offsets(), s.b_offsets(), s.m * s.n);
  if (c.added.defined()) add_inplace(c.y, c.added);
}

/// Adds `added` before the sum is rounded.
void run_bf16(MatmulCall& c) {
  const Stacks s(c);
  const Tensor added = c.added.defined() ? c.added.contiguous() : Tensor();
  gemm_bf16({.m = s.m,
             .n = s.n,
             .k = s.k,
             .a = {s.left.x.data<bf16>(), s.left.stride, s.left.transposed},
             .b = {s.right.x.data<bf16>(), s.right.stride, s.right.transposed},
             .y = s.y.mutable_data<bf16>(),
             .added = added.data_or_null<bf16>()},
            s.batch.numel(), s.a_offsets(), s.b_offsets());
}

}  // namespace

Work MatmulCall::work() const {
  const int64_t stack = leading(y.shape()).numel(), m = y.dim(-2) * (folds(*this) ? stack : 1);
  return {.products = {{.m = m,
                        .n = y.dim(-1),
                        .k = a.dim(transpose_a ? -2 : -1),
                        .transpose_a = transpose_a,
                        .transpose_b = transpose_b,
                        .batch = folds(*this) ? 1 : stack,
                        .dtype = a.dtype()}},
          .bytes = bytes_of(a) + bytes_of(b) + bytes_of(added) + bytes_of(y)};
}

Op<MatmulCall> matmul_op{"matmul",
                         {{.name = "tiles",
                           .dtypes = DType::f32,
                           .run = [](MatmulCall& c) { run<float>(c, gemm<float>); },
                           .levels = kernel::gemm_tile_f32.levels(),
                           .takes_strided = true},
                          {.name = "tiles",
                           .dtypes = DType::f64,
                           .run = [](MatmulCall& c) { run<double>(c, gemm<double>); },
                           .levels = kernel::gemm_tile_f64.levels(),
                           .takes_strided = true},
                          {.name = "pairs",
                           .dtypes = DType::bf16,
                           .run = run_bf16,
                           .levels = kernel::gemm_tile_bf16.levels(),
                           .takes_strided = true},
                          {.name = "loops",
                           .dtypes = DType::f32,
                           .run = [](MatmulCall& c) { run<float>(c, gemm_loops<float>); },
                           .is_reference = true,
                           .takes_strided = true},
                          {.name = "loops",
                           .dtypes = DType::f64,
                           .run = [](MatmulCall& c) { run<double>(c, gemm_loops<double>); },
                           .is_reference = true,
                           .takes_strided = true}}};

Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b, const Tensor& added) {
  MatmulCall call{a, b, transpose_a, transpose_b, added};
  matmul_op.check(call);
  require(a.rank() >= 2 && b.rank() >= 2, "matmul: operands need two axes or more: a {}, b {}", a.shape(), b.shape());
  const int64_t m = a.dim(transpose_a ? -1 : -2), k = a.dim(transpose_a ? -2 : -1), n = b.dim(transpose_b ? -2 : -1);
  require(k == b.dim(transpose_b ? -1 : -2), "matmul: inner dims differ: a {}{}, b {}{}", a.shape(),
          transpose_a ? " transposed" : "", b.shape(), transpose_b ? " transposed" : "");
  Shape shape = leading_of_product(a, b);
  shape.push_back(m);
  shape.push_back(n);
  require(!added.defined() || added.shape() == shape, "matmul: added {} does not fit y {}", added.shape(), shape);
  call.y = Tensor::empty(shape, a.dtype(), a.device());  // (…, M, N)
  if (call.y.numel() > 0) matmul_op.run(call);
  return call.y;
}

MatmulGrad matmul_grad(const Tensor& dy, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b,
                       bool need_a, bool need_b) {
  MatmulGrad out;
  if (need_a) out.da = transpose_a ? matmul(b, dy, transpose_b, true) : matmul(dy, b, false, !transpose_b);
  if (!need_b) return out;
  if (!transpose_a && a.rank() > 2 && a.shape().numel(0, a.rank() - 1) == dy.shape().numel(0, dy.rank() - 1) &&
      one_matrix(b)) {
    // One b for every a: the sum over the stack is part of the product.
    const Tensor rows = folded(a), dy_rows = folded(dy);  // (…·M, K), (…·M, N)
    out.db = (transpose_b ? matmul(dy_rows, rows, true, false) : matmul(rows, dy_rows, true, false)).reshape(b.shape());
  } else {
    out.db = transpose_b ? matmul(dy, a, true, transpose_a) : matmul(a, dy, !transpose_a, false);
  }
  return out;
}

}  // namespace headroom::engine
