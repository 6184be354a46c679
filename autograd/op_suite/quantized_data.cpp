#include "autograd/op_suite/quantized_data.h"

#include <cstring>
#include <memory>
#include <vector>

#include "autograd/op_suite/data.h"

namespace headroom::autograd::op_suite {
namespace {

using engine::BlockFormat;

/// Where the f16 of a block lie, and about how large an element is in units of the first of them.
struct Scales {
  std::vector<int64_t> offsets;
  double unit;
};

Scales scales_of(BlockFormat format) {
  switch (format) {
    case BlockFormat::q8_0:
      return {{0}, 64};
    case BlockFormat::q4_0:
      return {{0}, 4};
    case BlockFormat::q4_1:
      return {{0, 2}, 8};
    case BlockFormat::q5_0:
      return {{0}, 8};
    case BlockFormat::q5_1:
      return {{0, 2}, 16};
    case BlockFormat::q4_k:
      return {{0, 2}, 250};
    case BlockFormat::q6_k:
    case BlockFormat::f16:  // no scales: see random_numbers
    case BlockFormat::bf16:
      break;
  }
  return {{208}, 1000};
}

/// Formats of one number each.
engine::QuantizedMatrix random_numbers(const std::string& name, BlockFormat format, int64_t rows, int64_t cols) {
  const auto dtype = format == BlockFormat::f16 ? engine::DType::f16 : engine::DType::bf16;
  const auto numbers =
      std::make_shared<const Tensor>(engine::random_uniform({rows * cols}, -1, 1, key_of(name + "/numbers")).to(dtype));
  return {format, rows, cols, Tensor::over(numbers->raw(), numbers, {2 * rows * cols}, engine::DType::u8)};
}

}  // namespace

engine::QuantizedMatrix random_blocks(const std::string& name, BlockFormat format, int64_t rows, int64_t cols) {
  const engine::BlockLayout& layout = engine::layout_of(format);
  if (layout.elements == 1) return random_numbers(name, format, rows, cols);
  const int64_t blocks = rows * (cols / layout.elements);
  const Tensor bytes =
      engine::random_integers({blocks * layout.bytes}, 0, 256, key_of(name + "/blocks")).to(engine::DType::u8);
  const Scales scales = scales_of(format);
  const Tensor values = engine::random_uniform({blocks, 2}, -1, 1, key_of(name + "/scales"));
  for (int64_t b = 0; b < blocks; ++b)
    for (size_t i = 0; i < scales.offsets.size(); ++i) {
      const engine::f16 scale(values.data<float>()[b * 2 + static_cast<int64_t>(i)] / static_cast<float>(scales.unit));
      std::memcpy(bytes.mutable_data<uint8_t>() + b * layout.bytes + scales.offsets[i], &scale.bits, 2);
    }
  return {format, rows, cols, bytes};
}

}  // namespace headroom::autograd::op_suite
