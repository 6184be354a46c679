#pragma once
#include "engine/quantized/quantized_matrix.h"

namespace headroom::engine {

/// 32 numbers in 34 bytes. Returns whether the scale is a finite f16; the bytes mean nothing where it is not.
bool quantize_block_q8_0(const float* x, uint8_t* block);

/// 32 numbers in 18 bytes: d = x/-8 of the x of largest |x|, kept as f16, and x/d + 8 rounded, half up, to [0, 15]. The
/// same bits as ggml's. Returns as quantize_block_q8_0().
bool quantize_block_q4_0(const float* x, uint8_t* block);

/// A matrix (rows, cols) of real numbers in blocks of 8 bits: of each 32, d = max|x| / 127 and q = x/d rounded, ties
/// away from 0; d is kept as f16. The same bits as ggml's. Throws Error when cols is no multiple of 32, and naming the
/// place of a number that is not finite or beyond what an f16 scale can hold.
QuantizedMatrix quantize_q8_0(const Tensor& matrix);

}  // namespace headroom::engine
