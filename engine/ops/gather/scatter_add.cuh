#pragma once
#include "engine/ops/gather/gather.h"

namespace headroom::engine::cuda {

/// dx (outer, n, inner) = the sums of dy's elements (outer, m, inner), each where its index says; an index outside
/// [0, n) adds nothing. Both contiguous, f32, f64 or bf16, which is summed in f32; dx, not empty, is of dy's dtype, or
/// f32 for bf16. The order of every sum depends on the layout and the indices alone: no atomics. `adds`: to what dx, in
/// the dtype of sums, holds, of which only the rows are read that an index names.
void scatter_add(const Tensor& dx, const Tensor& dy, const Tensor& indices, const GatherLayout& at, bool adds = false);

}  // namespace headroom::engine::cuda
