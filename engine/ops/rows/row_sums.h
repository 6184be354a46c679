#pragma once
#include "engine/ops/rows/rows.h"
#include "engine/ops/sum/sum.h"

namespace headroom::engine {

/// Computes a gradient row by row and sums `vectors` vectors of x's width over all rows, as for a norm's weight and
/// bias. Rows go in fixed chunks with their own sums, added in order, so that the bits depend only on the shape.
///
/// f(begin, count, T* sums) handles `count` rows from `begin` on and sets its (vectors, C) sums; null if vectors is 0.
/// Returns (vectors, C), undefined if vectors is 0. There must be rows and a width.
template <class T, class F>
Tensor sum_over_rows(const Rows& rows, int64_t vectors, F&& f) {
  // At most 64 chunks, so that the partial sums stay small.
  const int64_t grain = std::max(rows.grain(), (rows.count + 63) / 64), chunks = (rows.count + grain - 1) / grain;
  Tensor partial;
  if (vectors > 0) partial = Tensor::empty({chunks, vectors, rows.width}, dtype_of<T>());
  T* sums = vectors > 0 ? partial.mutable_data<T>() : nullptr;
  parallel_for(chunks, [&](int64_t chunk) {
    const int64_t begin = chunk * grain, count = std::min(grain, rows.count - begin);
    f(begin, count, sums ? sums + chunk * vectors * rows.width : nullptr);
  });
  return vectors > 0 ? sum(partial, {0}, false) : partial;  // (vectors, C)
}

}  // namespace headroom::engine
