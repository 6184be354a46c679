// The first number that is not finite, in tensors of each dtype and in blocks of each format.
#include "engine/finite.h"

#include <cmath>
#include <limits>
#include <vector>

#include "engine/quantized/quantize.h"
#include "tests/support/catch.h"

using namespace headroom::engine;

TEST_CASE("the first number that is not finite is found in tensors of every dtype") {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    CAPTURE(name_of(dtype));
    const Tensor large = Tensor::full({3, 70000}, 60000.0, dtype);  // several ranges; near f16's largest
    CHECK_FALSE(first_not_finite(large));
    Tensor x = large.to(DType::f64).clone();
    x.mutable_data<double>()[2 * 70000 + 9] = -inf;
    CHECK(first_not_finite(x.to(dtype)).value_or("") == "-inf at (2, 9)");
    x.mutable_data<double>()[70000 + 65536] = nan;
    CHECK(first_not_finite(x.to(dtype)).value_or("") == "nan at (1, 65536)");
    CHECK(first_not_finite(x.to(dtype).transpose(0, 1)).value_or("") == "-inf at (9, 2)");
    CHECK_FALSE(first_not_finite(x.to(dtype).slice(0, 0, 1)));
  }
  CHECK_FALSE(first_not_finite(Tensor::zeros({0, 4}, DType::f32)));
  CHECK_FALSE(first_not_finite(Tensor::full({2}, 7.0, DType::i64)));
}

TEST_CASE("a block whose scale is not finite is found in every format") {
  constexpr int64_t rows = 3, cols = 512;
  for (const BlockFormat format : block_formats) {
    const BlockTraits& traits = traits_of(format);
    CAPTURE(traits.name);
    Tensor bytes = Tensor::zeros({rows * cols / traits.elements * traits.bytes}, DType::u8);
    CHECK_FALSE(first_not_finite(QuantizedMatrix(format, rows, cols, bytes)));
    const int64_t block = 2 * cols / traits.elements - 1;  // the last of row 1
    auto* const at = bytes.mutable_data<uint8_t>() + block * traits.bytes;
    if (traits.exponent_place >= 0) continue;  // a power of two is finite
    const int place = traits.scale_places[0] < 0 ? 0 : traits.scale_places[traits.scale_places[1] < 0 ? 0 : 1];
    at[place] = 0xC1, at[place + 1] = 0x7F;  // nan in f16 and in bf16
    const std::string found = first_not_finite(QuantizedMatrix(format, rows, cols, bytes)).value_or("");
    CHECK(found.ends_with(headroom::engine::Shape{1, cols - traits.elements}.str()));
  }
}
