#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// y[…, :] = table[indices[…], :]: table (V, C), indices (…) i64 or i32 → (…, C). Throws Error naming an index outside
/// [0, V) and its position; on a GPU, where nothing waits to look at them, such a row is NaN.
Tensor embedding(const Tensor& table, const Tensor& indices);

/// dtable[v] = Σ of dy's rows whose index is v, added in the order of their positions; V = `vocabulary`. Each row of
/// the table has one owner, so that the bits do not depend on the number of threads. Throws Error as embedding(). On a
/// GPU the indices are sorted, the sum of many rows is one of sums of 64, and an index outside [0, V) adds nothing; and
/// the sums are written to `place` (V, C), in statistic_dtype() of dy's, where there is one, or added to what it holds.
Tensor embedding_grad(const Tensor& dy, const Tensor& indices, int64_t vocabulary, const Tensor& place = {},
                      bool adds = false);

struct EmbeddingCall {
  Tensor table, indices;
  Tensor y{};
  auto operands() { return std::array{real("table", table), index("indices", indices)}; }
  Work work() const { return {.bytes = bytes_of(indices) + 2 * bytes_of(y)}; }  // the table's rows that are named
};
struct EmbeddingGradCall {
  Tensor dy, indices;
  bool adds = false;  ///< to what dtable holds: on a GPU
  Tensor dtable{};
  auto operands() { return std::array{real("dy", dy), index("indices", indices)}; }
  Work work() const { return {.bytes = bytes_of(dy) + bytes_of(indices) + bytes_of(dtable)}; }
};
extern Op<EmbeddingCall> embedding_op;
extern Op<EmbeddingGradCall> embedding_grad_op;

}  // namespace headroom::engine
