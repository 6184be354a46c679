#include "engine/quantized/quantized_matrix.h"

#include <type_traits>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "engine/parallel.h"

namespace headroom::engine {

QuantizedMatrix::QuantizedMatrix(BlockFormat format, int64_t rows, int64_t cols, Tensor blocks)
    : format_(format), rows_(rows), cols_(cols), blocks_(std::move(blocks)) {
  const BlockTraits& traits = traits_of(format);
  require(rows >= 0 && cols >= 0 && cols % traits.elements == 0,
          "quantized matrix: {} ({}, {}): rows are not whole blocks of {}", traits.name, rows, cols, traits.elements);
  require(blocks_.defined() && blocks_.dtype() == DType::u8 && blocks_.is_contiguous(),
          "quantized matrix: {} ({}, {}): blocks are {}, expected contiguous u8", traits.name, rows, cols, blocks_);
  // Divisions, as the product of sizes read from a file may overflow.
  const int64_t row_blocks = cols / traits.elements, have = blocks_.numel();
  row_bytes_ = have / traits.bytes >= row_blocks ? row_blocks * traits.bytes : have + 1;
  const bool fits = row_bytes_ == 0 || rows == 0 ? have == 0 : have % row_bytes_ == 0 && have / row_bytes_ == rows;
  require(fits, "quantized matrix: {} ({}, {}): {} bytes do not hold it", traits.name, rows, cols, have);
}

void QuantizedMatrix::dequantize_row(int64_t index, int64_t begin, int64_t end, float* values) const {
  const BlockTraits& traits = traits_of(format_);
  engine::dequantize(format_, row(index) + begin / traits.elements * traits.bytes, (end - begin) / traits.elements,
                     values);
}

Tensor QuantizedMatrix::dequantize(int64_t begin, int64_t end, DType dtype) const {
  require(begin >= 0 && begin <= end && end <= rows_, "quantized matrix: rows [{}, {}) of {}", begin, end, str());
  require(is_floating(dtype), "quantized matrix: {} in {}; expected real numbers", str(), name_of(dtype));
  if (!device().is_cpu()) return rows_between(begin, end).to(cpu).dequantize(dtype).to(device());
  const Tensor values = Tensor::empty({end - begin, cols_}, dtype);  // (rows, cols)
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    auto* const out = values.mutable_data<T>();
    parallel_ranges(end - begin, 16, [&](int64_t from, int64_t to) {
      if constexpr (std::is_same_v<T, float>) {
        for (int64_t r = from; r < to; ++r) dequantize_row(begin + r, 0, cols_, out + r * cols_);
      } else {
        std::vector<float> row(static_cast<size_t>(cols_));
        for (int64_t r = from; r < to; ++r) {
          dequantize_row(begin + r, 0, cols_, row.data());
          for (int64_t i = 0; i < cols_; ++i) out[r * cols_ + i] = static_cast<T>(row[static_cast<size_t>(i)]);
        }
      }
    });
  });
  return values;
}

QuantizedMatrix QuantizedMatrix::rows_between(int64_t begin, int64_t end) const {
  require(begin >= 0 && begin <= end && end <= rows_, "quantized matrix: rows [{}, {}) of {}", begin, end, str());
  return {format_, end - begin, cols_, blocks_.slice(0, begin * row_bytes_, end * row_bytes_)};
}

QuantizedMatrix QuantizedMatrix::to(Device device) const {
  return device == blocks_.device() ? *this : QuantizedMatrix(format_, rows_, cols_, blocks_.to(device));
}

std::string QuantizedMatrix::str() const { return fmt::format("{} ({}, {})", traits_of(format_).name, rows_, cols_); }

namespace {

void copy_quantized_rows(QuantizedRowsCall& c) {
  const QuantizedMatrix& matrix = c.matrix;
  const auto* index = c.indices.data<int64_t>();
  for (int64_t i = 0; i < c.indices.numel(); ++i)
    require(index[i] >= 0 && index[i] < matrix.rows(), "quantized rows: index {} is no row of {}", index[i], matrix);
  const Tensor values = c.y.dtype() == DType::f32 ? c.y : Tensor::empty(c.y.shape());  // (…, cols)
  auto* const to = values.mutable_data<float>();
  parallel_for(c.indices.numel(), 16,
               [&](int64_t i) { matrix.dequantize_row(index[i], 0, matrix.cols(), to + i * matrix.cols()); });
  if (c.y.dtype() != DType::f32) copy_inplace(c.y, values.to(c.y.dtype()));
}

}  // namespace

Op<QuantizedRowsCall> quantized_rows_op{
    "quantized_rows", {{.name = "blocks", .dtypes = DType::i64, .run = copy_quantized_rows, .is_reference = true}}};

Tensor quantized_rows(const QuantizedMatrix& matrix, const Tensor& indices, DType dtype) {
  QuantizedRowsCall call{indices, matrix};
  quantized_rows_op.check(call);
  require(indices.device() == matrix.device(), "quantized rows: indices on {}, {} on {}", indices.device(), matrix,
          matrix.device());
  require(is_floating(dtype), "quantized rows: {} in {}; expected real numbers", matrix, name_of(dtype));
  Shape shape = indices.shape();
  shape.push_back(matrix.cols());
  call.y = Tensor::empty(shape, dtype, matrix.device());  // (…, cols)
  if (call.y.numel() > 0) quantized_rows_op.run(call);
  return call.y;
}

}  // namespace headroom::engine
