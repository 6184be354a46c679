#include "tests/op_suite/quantized_data.h"

#include <cstring>
#include <memory>

#include "autograd/op_suite/data.h"

namespace headroom::autograd::op_suite {
namespace {

using engine::BlockFormat;

/// Formats of one number each.
engine::QuantizedMatrix random_numbers(const std::string& name, BlockFormat format, int64_t rows, int64_t cols) {
  const auto dtype = format == BlockFormat::f16 ? engine::DType::f16 : engine::DType::bf16;
  const auto numbers =
      std::make_shared<const Tensor>(engine::random_uniform({rows * cols}, -1, 1, key_of(name + "/numbers")).to(dtype));
  return {format, rows, cols, Tensor::over(numbers->raw(), numbers, {2 * rows * cols}, engine::DType::u8)};
}

}  // namespace

engine::QuantizedMatrix random_blocks(const std::string& name, BlockFormat format, int64_t rows, int64_t cols) {
  const engine::BlockTraits& traits = engine::traits_of(format);
  if (traits.elements == 1) return random_numbers(name, format, rows, cols);
  const int64_t blocks = rows * (cols / traits.elements);
  const Tensor bytes =
      engine::random_integers({blocks * traits.bytes}, 0, 256, key_of(name + "/blocks")).to(engine::DType::u8);
  const Tensor values = engine::random_uniform({blocks, 2}, -1, 1, key_of(name + "/scales"));
  const auto exponent_of = [&](int64_t b) -> uint8_t& {
    return bytes.mutable_data<uint8_t>()[b * traits.bytes + traits.exponent_place];
  };
  for (int64_t b = 0; b < blocks; ++b) {
    if (traits.exponent_place >= 0)  // of 2^-7 to 2^-4, in place of one that may be 2^127
      exponent_of(b) = 121 + exponent_of(b) % 4;
    for (int64_t i = 0; i < 2 && traits.scale_places[i] >= 0; ++i) {
      const engine::f16 scale(values.data<float>()[b * 2 + i] / static_cast<float>(traits.typical));
      std::memcpy(bytes.mutable_data<uint8_t>() + b * traits.bytes + traits.scale_places[i], &scale.bits, 2);
    }
  }
  return {format, rows, cols, bytes};
}

}  // namespace headroom::autograd::op_suite
