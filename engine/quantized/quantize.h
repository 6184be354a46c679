#pragma once
#include "engine/quantized/quantized_matrix.h"

namespace headroom::engine {

/// Packs 32 numbers into 34 bytes. True if the scale is a finite f16; otherwise the bytes are meaningless.
bool quantize_block_q8_0(const float* x, uint8_t* block);

/// Packs 32 numbers into 18 bytes: d = x/-8 of the x of largest |x|, kept as f16, and x/d + 8 rounded, half up, to [0,
/// 15]. The same bits as ggml's. Returns as quantize_block_q8_0().
bool quantize_block_q4_0(const float* x, uint8_t* block);

/// Packs a real matrix (rows, cols) in blocks of 8 bits: for each 32 numbers, d = max|x| / 127 and q = x/d rounded,
/// ties away from 0; d is kept as f16. The same bits as ggml's. Throws Error if cols is not a multiple of 32, and
/// naming the place of a number that is not finite or too large for an f16 scale.
QuantizedMatrix quantize_q8_0(const Tensor& matrix);

}  // namespace headroom::engine
