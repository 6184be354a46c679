#include "engine/quantized/quantize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/error.h"
#include "engine/parallel.h"
#include "engine/quantized/encode.h"
#include "engine/quantized/pack_block.h"

namespace headroom::engine {

namespace {

/// Weights of the columns: the importance over its mean, above 0 so that no column is free.
std::vector<float> weights_of(const Tensor& importance, int64_t cols) {
  std::vector<float> weights(static_cast<size_t>(cols), 1);
  if (!importance.defined()) return weights;
  require(importance.shape() == Shape{cols} && is_floating(importance.dtype()),
          "quantize: importance is {}, expected {} real numbers", importance, cols);
  const auto values = importance.to_vector<double>();
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    require(std::isfinite(values[i]) && values[i] >= 0, "quantize: importance {} is {}, expected a number not below 0",
            i, values[i]);
    sum += values[i] / static_cast<double>(cols);
  }
  constexpr double least = 1e-4, most = 1e6;
  for (size_t i = 0; sum > 0 && i < values.size(); ++i)
    weights[i] = static_cast<float>(std::clamp(values[i] / sum, least, most));
  return weights;
}

}  // namespace

QuantizedMatrix quantize(const Tensor& matrix_in, BlockFormat format, const Tensor& importance) {
  const BlockTraits& traits = traits_of(format);
  require(matrix_in.defined() && matrix_in.rank() == 2 && is_floating(matrix_in.dtype()) &&
              matrix_in.dim(1) % traits.elements == 0,
          "quantize: expected a matrix of real numbers with rows of whole blocks of {}, got {}", traits.elements,
          matrix_in);
  const Tensor matrix = matrix_in.to(DType::f32).contiguous();
  const int64_t rows = matrix.dim(0), cols = matrix.dim(1), row_blocks = cols / traits.elements;
  const auto* x = matrix.data<float>();
  for (int64_t i = 0; i < matrix.numel(); ++i)
    if (!std::isfinite(x[i]))  // no require: it would make the words for every element
      fail("quantize: element ({}, {}) of {} is {}", i / cols, i % cols, matrix.str(), x[i]);
  const std::vector<float> columns = weights_of(importance, cols);
  const Tensor blocks = Tensor::empty({rows * row_blocks * traits.bytes}, DType::u8);
  auto* bytes = blocks.mutable_data<uint8_t>();
  parallel_ranges(rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin * row_blocks; b < end * row_blocks; ++b) {
      const float* from = x + b * traits.elements;
      uint8_t* const to = bytes + b * traits.bytes;
      const bool fits = format == BlockFormat::q8_0
                            ? pack_block<blocks::Q8_0>(from, to)
                            : encode_block(format, from, columns.data() + b % row_blocks * traits.elements, to);
      if (!fits)
        fail("quantize: row {} of {} holds a number too large for a scale of 16 bits", b / row_blocks, matrix.str());
    }
  });
  return {format, rows, cols, blocks};
}

}  // namespace headroom::engine
