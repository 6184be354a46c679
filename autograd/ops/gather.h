#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// y[i, k, j] = x[i, index[i, k, j], j], with the index on `axis`; index i64 or i32, of x's rank. On other axes it has
/// x's size or 1, which broadcasts. An element taken several times gets the sum of the gradients.
Var gather(const Var& x, int axis, const Tensor& index);

/// The slices indices[0], indices[1], … along `axis`: x (…, n, …), indices (m) → (…, m, …). For rows of a table use
/// `embedding`.
Var index_select(const Var& x, int axis, const Tensor& indices);

}  // namespace headroom::autograd
