#pragma once
#include <string>

#include "engine/dispatch/op.h"
#include "engine/quantized/block_format.h"

namespace headroom::engine {

/// A matrix as stored on disk: each row is a run of whole blocks. It is not a tensor: only ops made for it can read it.
/// Copies share the bytes, which may be a mapped file's. Threads: as a Tensor; nothing here writes.
class QuantizedMatrix {
 public:
  QuantizedMatrix() = default;  ///< undefined
  /// `blocks` u8, contiguous, on any device, holding exactly rows · cols numbers. Throws Error if cols is not a
  /// multiple of the block's elements, or the number of bytes is wrong.
  QuantizedMatrix(BlockFormat format, int64_t rows, int64_t cols, Tensor blocks);

  bool defined() const { return blocks_.defined(); }
  BlockFormat format() const { return format_; }
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  Shape shape() const { return {rows_, cols_}; }
  int64_t row_bytes() const { return row_bytes_; }
  int64_t bytes() const { return rows_ * row_bytes_; }
  /// The raw bytes: u8 (rows · row_bytes).
  const Tensor& blocks() const { return blocks_; }
  Device device() const { return blocks_.device(); }
  /// The matrix on that device: itself, or a copy of the bytes.
  QuantizedMatrix to(Device device) const;
  /// The start of a row, on the matrix's device.
  const uint8_t* row(int64_t index) const { return blocks_.data<uint8_t>() + index * row_bytes_; }

  /// Columns [begin, end) of one row, in f32; both are multiples of the block's elements. The matrix is on the CPU.
  void dequantize_row(int64_t row, int64_t begin, int64_t end, float* values) const;
  /// Rows [begin, end) in a dtype (end - begin, cols), in parallel; rounded from f32 to narrower dtypes. The result is
  /// on the matrix's device, but the CPU unpacks it: too slow for every step.
  Tensor dequantize(int64_t begin, int64_t end, DType dtype = DType::f32) const;
  Tensor dequantize(DType dtype = DType::f32) const { return dequantize(0, rows_, dtype); }
  /// Rows [begin, end), over the same bytes. Throws Error if they do not exist.
  QuantizedMatrix rows_between(int64_t begin, int64_t end) const;
  /// "q4_1 (576, 1536)".
  std::string str() const;

 private:
  BlockFormat format_ = BlockFormat::q8_0;
  int64_t rows_ = 0, cols_ = 0, row_bytes_ = 0;
  Tensor blocks_;  ///< u8 (rows · row_bytes)
};

/// Rows by index: i64 (…) → f32 or f64, on a GPU also bf16 (…, cols). Throws Error naming an index that is not a row;
/// on a GPU, where kernels cannot throw, such a row is NaN.
Tensor quantized_rows(const QuantizedMatrix& matrix, const Tensor& indices, DType dtype);

/// A checked call for its implementations.
struct QuantizedRowsCall {
  Tensor indices;
  const QuantizedMatrix& matrix;
  Tensor y{};
  auto operands() { return std::array{index("indices", indices)}; }
};
extern Op<QuantizedRowsCall> quantized_rows_op;

}  // namespace headroom::engine
