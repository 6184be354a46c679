#pragma once
#include "engine/tensor.h"

namespace headroom::engine::cuda {

/// Sorts keys i64 (n), contiguous, each in [0, end), any n: the keys in ascending order and the original index of each,
/// i64 (2, n). Equal keys keep their order. A radix sort (LSD) of 8 bits per pass, one pass per byte of end; its bits
/// depend only on the keys.
Tensor sort_keys(const Tensor& keys, int64_t end);

}  // namespace headroom::engine::cuda
