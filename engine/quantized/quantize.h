#pragma once
#include "engine/quantized/quantized_matrix.h"

namespace headroom::engine {

/// Packs 32 numbers into 34 bytes. True if the scale is a finite f16; otherwise the bytes are meaningless.
bool quantize_block_q8_0(const float* x, uint8_t* block);

/// Packs 32 numbers into 18 bytes: d = x/-8 of the x of largest |x|, kept as f16, and x/d + 8 rounded, half up, to [0,
/// 15]. The same bits as ggml's. Returns as quantize_block_q8_0().
bool quantize_block_q4_0(const float* x, uint8_t* block);

/// Packs a real matrix (rows, cols). q8_0: for each 32 numbers, d = max|x| / 127 and q = x/d rounded, ties away from 0;
/// d is kept as f16; the same bits as ggml's. q4_k, q5_k, q6_k and q4_0 to q5_1 as encode_block() does, the weight of a
/// number being its column's `importance` (cols), the mean square of what the column is multiplied by; undefined:
/// equal. Throws Error if cols is no multiple of the block's numbers, and naming the place of a number that is not
/// finite or too large for an f16 scale, or of an importance below 0 or not finite.
QuantizedMatrix quantize(const Tensor& matrix, BlockFormat format, const Tensor& importance = {});

}  // namespace headroom::engine
