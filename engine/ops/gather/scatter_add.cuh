#pragma once
#include "engine/ops/gather/gather.h"

namespace headroom::engine::cuda {

/// dx (outer, n, inner) = the sums of dy's elements (outer, m, inner), each added at its index; an index outside [0, n)
/// adds nothing. Both contiguous, f32, f64 or bf16, which is summed in f32; dx, not empty, has dy's dtype, or f32 for
/// bf16. The order of every sum depends only on the layout and the indices: no atomics. `adds`: adds to dx's contents,
/// in the dtype of sums, reading only rows that an index names. `order`: sorted_rows(), if they are there already.
void scatter_add(const Tensor& dx, const Tensor& dy, const Tensor& indices, const GatherLayout& at, bool adds = false,
                 const Tensor& order = {});

/// Sums of at most so many rows need no order.
inline constexpr int64_t few_rows = 16;
/// The rows of dx that the indices name, ascending, and the place of each in dy: i64 (2, n).
Tensor sorted_rows(const Tensor& indices, const GatherLayout& at);

}  // namespace headroom::engine::cuda
