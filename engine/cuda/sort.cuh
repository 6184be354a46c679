#pragma once
#include "engine/tensor.h"

namespace headroom::engine::cuda {

/// Keys in ascending order and their original indices: i64 (n) each. Equal keys keep their order.
struct Sorted {
  Tensor keys, positions;
};

/// Sorts keys i64 (n), contiguous, each in [0, end), any n: a radix sort (LSD) of 8 bits per pass, one pass per byte of
/// end. Its bits depend only on the keys.
Sorted sort_keys(const Tensor& keys, int64_t end);

}  // namespace headroom::engine::cuda
