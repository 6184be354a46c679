#include "engine/quantized/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/error.h"
#include "engine/parallel.h"

namespace headroom::engine {

bool quantize_block_q8_0(const float* x, uint8_t* block) {
  float most = 0;
  for (int i = 0; i < 32; ++i) most = std::max(most, std::fabs(x[i]));
  const float step = most / 127;
  const f16 scale(step);
  if (!std::isfinite(static_cast<float>(scale))) return false;
  const float inverse = static_cast<float>(scale) > 0 ? 1 / step : 0;  // 1 / step may be infinite where the scale is 0
  std::memcpy(block, &scale.bits, 2);
  for (int i = 0; i < 32; ++i) block[2 + i] = static_cast<uint8_t>(static_cast<int8_t>(std::round(x[i] * inverse)));
  return true;
}

bool quantize_block_q4_0(const float* x, uint8_t* block) {
  float most = 0;
  for (int i = 0; i < 32; ++i)
    if (std::fabs(x[i]) > std::fabs(most)) most = x[i];
  const float step = most / -8;
  const f16 scale(step);
  if (!std::isfinite(static_cast<float>(scale))) return false;
  const float inverse = static_cast<float>(scale) != 0 ? 1 / step : 0;
  std::memcpy(block, &scale.bits, 2);
  const auto level = [&](int i) { return static_cast<int>(std::min(15.0F, std::floor(x[i] * inverse + 8.5F))); };
  for (int i = 0; i < 16; ++i) block[2 + i] = static_cast<uint8_t>(level(i) | (level(i + 16) << 4));
  return true;
}

QuantizedMatrix quantize_q8_0(const Tensor& matrix_in) {
  require(matrix_in.defined() && matrix_in.rank() == 2 && is_floating(matrix_in.dtype()) && matrix_in.dim(1) % 32 == 0,
          "quantize: expected a matrix of real numbers with rows of whole blocks of 32, got {}", matrix_in);
  const Tensor matrix = matrix_in.to(DType::f32).contiguous();
  const int64_t rows = matrix.dim(0), row_blocks = matrix.dim(1) / 32;
  const auto* x = matrix.data<float>();
  for (int64_t i = 0; i < matrix.numel(); ++i)
    if (!std::isfinite(x[i]))  // no require: it would make the words for every element
      fail("quantize: element ({}, {}) of {} is {}", i / matrix.dim(1), i % matrix.dim(1), matrix.str(), x[i]);
  const Tensor blocks = Tensor::empty({rows * row_blocks * 34}, DType::u8);
  auto* bytes = blocks.mutable_data<uint8_t>();
  parallel_ranges(rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin * row_blocks; b < end * row_blocks; ++b)
      if (!quantize_block_q8_0(x + 32 * b, bytes + 34 * b))
        fail("quantize: row {} of {} holds a number too large for a scale of 16 bits", b / row_blocks, matrix.str());
  });
  return {BlockFormat::q8_0, rows, matrix.dim(1), blocks};
}

}  // namespace headroom::engine
