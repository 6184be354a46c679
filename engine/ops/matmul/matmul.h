#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// Products of matrices in the last two axes:
///
///   y = op(a) · op(b),   a (…, M, K), b (…, K, N) → y (…, M, N),   op the transposition where asked for
///
/// A transposed operand is stored as (…, K, M) or (…, N, K). Leading axes broadcast as in NumPy. K = 0 gives zeros.
/// Reads strided operands in place if one of their last two axes has stride 1. Throws Error if an operand has fewer
/// than two axes, or if K or the leading axes do not fit. Adds `added`, of y's shape, to y; on a GPU while the product
/// is in registers.
Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a = false, bool transpose_b = false,
              const Tensor& added = {});

/// A checked product, as its implementations get it.
struct MatmulCall {
  Tensor a, b;
  bool transpose_a, transpose_b;
  Tensor added;
  Tensor y{};
  auto operands() { return std::array{real("a", a), real("b", b), optional_real("added", added)}; }
  Work work() const;
};
extern Op<MatmulCall> matmul_op;

struct MatmulGrad {
  Tensor da, db;  ///< leading axes as y's: not summed if a or b was broadcast, except a b of one matrix for all of a
};

/// Without transpositions da = dy · bᵀ and db = aᵀ · dy; a transposed operand gets the transpose. `need_a` and `need_b`
/// say which to compute.
MatmulGrad matmul_grad(const Tensor& dy, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b,
                       bool need_a, bool need_b);

}  // namespace headroom::engine
