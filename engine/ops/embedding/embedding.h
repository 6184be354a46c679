#pragma once
#include "engine/tensor.h"

namespace headroom::engine {

/// y[…, :] = table[indices[…], :]: table (V, C), indices (…) i64 or i32 → (…, C). Throws Error naming an index outside
/// [0, V) and its position.
Tensor embedding(const Tensor& table, const Tensor& indices);

/// dtable[v] = Σ of dy's rows whose index is v, added in the order of their positions; V = `vocabulary`. Each row of
/// the table has one owner, so that the bits do not depend on the number of threads. Throws Error as embedding().
Tensor embedding_grad(const Tensor& dy, const Tensor& indices, int64_t vocabulary);

}  // namespace headroom::engine
