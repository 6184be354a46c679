#pragma once
#include "engine/quantized/quantized_matrix.h"

namespace headroom::engine {

/// Packs a real matrix (rows, cols). q8_0 as pack_block() does; q4_k, q5_k, q6_k and q4_0 to q5_1 as encode_block()
/// does, the weight of a number being its column's `importance` (cols), the mean square of what the column is
/// multiplied by; undefined: equal. Throws Error if cols is no multiple of the block's numbers, and naming the place of
/// a number that is not finite or too large for an f16 scale, or of an importance below 0 or not finite.
QuantizedMatrix quantize(const Tensor& matrix, BlockFormat format, const Tensor& importance = {});

}  // namespace headroom::engine
