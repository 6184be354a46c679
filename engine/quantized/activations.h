#pragma once
#include "engine/tensor.h"

namespace headroom::engine {

/// Rows of activations in 8 bits, to multiply by a matrix in blocks. For each 32 numbers,
///
///   d = max|x| / 127,   a = round(x · 127 / max|x|), ties to even,   x ≈ d·a
///
/// so that no number moves by more than d/2. A block below 10^-30 counts as zeros. If a number of a block is not
/// finite, d is NaN, and so is every product with the block.
struct QuantizedActivations {
  int64_t rows = 0, cols = 0;
  int64_t blocks = 0;  ///< per stored row: cols / 32 in whole groups of 8, those beyond cols zero
  Tensor values{};     ///< i8 (rows, 32 · blocks)
  Tensor scales{};     ///< f32 (rows, blocks): d
  Tensor sums{};       ///< f32 (rows, blocks): d · Σ a, for formats with a minimum
};

/// x f32 (rows, cols), contiguous, cols a multiple of 32.
QuantizedActivations quantize_activations(const Tensor& x);

/// d·a as f32 (rows, cols): the factors in products with 8-bit activations.
Tensor dequantize(const QuantizedActivations& activations);

}  // namespace headroom::engine
