#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// y[…, :] = table[indices[…], :]: table (V, C), indices (…) i64 or i32 → (…, C). Throws Error naming an index outside
/// [0, V) and its position; on a GPU, where nothing waits to check, such a row is NaN.
Tensor embedding(const Tensor& table, const Tensor& indices);

/// dtable[v] = Σ of dy's rows with index v, in order of position; V = `vocabulary`. Each row of the table has one
/// owner, so the bits do not depend on the number of threads. Throws Error as embedding(). On a GPU it sorts the
/// indices, sums many rows as sums of 64, and ignores an index outside [0, V); if `place` (V, C), in statistic_dtype()
/// of dy's, is given, it writes the sums there or adds them to its contents. `order`: the indices' embedding_order().
Tensor embedding_grad(const Tensor& dy, const Tensor& indices, int64_t vocabulary, const Tensor& place = {},
                      bool adds = false, const Tensor& order = {});

/// The part of embedding_grad() that needs only the indices (n in all), to make before dy: the indices in ascending
/// order, and the position of each, i64 (2, n). Undefined where nothing is sorted: on the CPU, and for few indices.
Tensor embedding_order(const Tensor& indices, int64_t vocabulary);

struct EmbeddingCall {
  Tensor table, indices;
  Tensor y{};
  auto operands() { return std::array{real("table", table), index("indices", indices)}; }
  Work work() const { return {.bytes = bytes_of(indices) + 2 * bytes_of(y)}; }  // the table rows named
};
struct EmbeddingGradCall {
  Tensor dy, indices;
  bool adds = false;  ///< adds to dtable's contents: on a GPU
  Tensor order{};
  Tensor dtable{};
  auto operands() { return std::array{real("dy", dy), index("indices", indices), optional_index("order", order)}; }
  Work work() const { return {.bytes = bytes_of(dy) + bytes_of(indices) + bytes_of(dtable)}; }
};
struct EmbeddingOrderCall {
  Tensor indices;
  int64_t vocabulary;
  Tensor order{};
  auto operands() { return std::array{index("indices", indices)}; }
};
extern Op<EmbeddingCall> embedding_op;
extern Op<EmbeddingGradCall> embedding_grad_op;
extern Op<EmbeddingOrderCall> embedding_order_op;

}  // namespace headroom::engine
