#pragma once
#include "engine/tensor.h"

// Rows with gaps between them, so that each starts where a GPU can read 16 bytes at once.
namespace headroom::engine {

/// The width whose rows are multiples of 16 bytes, as a GPU's widest loads and fastest products need.
inline int64_t padded_width(int64_t width, DType dtype) {
  const int64_t pack = 16 / size_of(dtype);
  return (width + pack - 1) / pack * pack;
}

/// Makes rows along the last axis of `shape` in a tensor of padded_width(): a view if that is wider, with the gaps
/// declared as padding; `gets_zeros`: whoever fills the rows also writes zeros there.
inline Tensor padded_rows(const Shape& shape, DType dtype, Device device, bool gets_zeros = false) {
  const int64_t width = shape[-1], wide = padded_width(width, dtype);
  const Tensor whole = Tensor::empty(shape.with(-1, wide), dtype, device);
  if (wide > width) whole.declare_padding(width, wide, wide, gets_zeros);
  return whole.slice(-1, 0, width);
}

/// True if x has such rows with gaps between them.
inline bool has_padded_rows(const Tensor& x) {
  return !x.device().is_cpu() && !x.is_contiguous() && x.row_stride() == padded_width(x.dim(-1), x.dtype()) &&
         reinterpret_cast<uintptr_t>(x.raw()) % 16 == 0;
}

}  // namespace headroom::engine
