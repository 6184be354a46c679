#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// y[i, k, j] = x[i, index[i, k, j], j], with the index on `axis`: x (…, n, …), index (…, m, …) i64 or i32 of x's rank
/// → (…, m, …). On other axes the index has x's size or 1, which broadcasts: an index of shape (1, m, 1) picks whole
/// slices. Any dtype. Throws Error naming an index outside [0, n) and its position; on a GPU, where nothing waits to
/// check, such an element is NaN, or 0 in an integer dtype.
Tensor gather(const Tensor& x, int axis, const Tensor& index);

/// dx: adds dy's elements to the ones they came from, in order of position along the axis, so that the bits do not
/// depend on the number of threads; `shape` is x's. f32 and f64, on a GPU also bf16, summed in f32; there many are
/// summed as sums of 64, and an index outside [0, n) adds nothing.
Tensor gather_grad(const Tensor& dy, const Shape& shape, int axis, const Tensor& index);

/// x as (outer, n, inner) and the result as (outer, m, inner); the index of element (o, k, j) is
/// index[o · stride_o + k · stride_k + j · stride_j].
struct GatherLayout {
  int64_t outer, n, inner, m;
  int64_t stride_o, stride_k, stride_j;  ///< stride_j: 0 or 1
};
struct GatherCall {
  Tensor x, indices;
  Tensor given{};  ///< the indices before they were broadcast: messages count positions in them
  GatherLayout at{};
  Tensor y{};
  auto operands() { return std::array{real("x", x), index("index", indices)}; }
};
struct GatherGradCall {
  Tensor dy, indices;
  Tensor given{};
  GatherLayout at{};
  Tensor dx{};
  auto operands() { return std::array{real("dy", dy), index("index", indices)}; }
};
extern Op<GatherCall> gather_op;
extern Op<GatherGradCall> gather_grad_op;

}  // namespace headroom::engine
