#pragma once
#include "engine/kernel.h"
#include "engine/quantized/format.h"

namespace headroom::engine {

/// Some stored rows of W times a few rows of x: y[r · y_row + o] for row o of W and row r of x. An element of y is the
/// same sum whatever the other rows are.
template <class X>
struct FewRows {
  BlockFormat format;
  int64_t block_elements, block_bytes;
  const uint8_t* w;
  int64_t row_bytes, w_rows, cols;
  X x;
  int64_t x_rows;
  float* y;
  int64_t y_row;
};

/// Rows of QuantizedActivations: `blocks` blocks of 32 each.
struct ByteRows {
  const int8_t* values;
  const float *scales, *sums;
  int64_t blocks;
};
/// Rows that are `stride` numbers apart.
struct FloatRows {
  const float* values;
  int64_t stride;
};

/// f32 products with the numbers of W, unpacked some columns of some rows at a time. All formats.
HEADROOM_KERNEL_AVX512(void, few_rows_f32, (const FewRows<FloatRows>& problem))

}  // namespace headroom::engine
