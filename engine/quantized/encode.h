#pragma once
#include "engine/quantized/block_format.h"

namespace headroom::engine {

/// Packs one block of q4_k, q5_k, q6_k, q5_0 or q5_1 so that Σ w (x - unpacked)² is small: a weighted least-squares fit
/// of each run, then of the steps that the runs share, and of the runs to these. x are finite, the weights (as many) ≥
/// 0. False if a number is too large for a scale of 16 bits: the bytes are then meaningless.
bool encode_block(BlockFormat format, const float* x, const float* weights, uint8_t* block);

}  // namespace headroom::engine
