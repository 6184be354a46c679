#include "engine/dtype.h"

#include <cmath>
#include <limits>

#include "engine/error.h"
#include "engine/tensor.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::engine;

namespace {

uint16_t to_bf16(float x) { return bf16(x).bits; }
uint16_t to_f16(float x) { return f16(x).bits; }
float from_f16(int bits) {
  f16 x;
  x.bits = static_cast<uint16_t>(bits);
  return float(x);
}
constexpr float infinity = std::numeric_limits<float>::infinity(),
                not_a_number = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("dtype: names") {
  CHECK(dtype_named("bf16") == DType::bf16);
  CHECK(std::string(name_of(DType::boolean)) == "bool");
  CHECK(size_of(DType::i64) == 8);
  CHECK_THROWS_WITH(dtype_named("float"), testing::contains("'float'") && testing::contains("f32, bf16"));
}

TEST_CASE("bf16 rounds to nearest even") {
  CHECK(to_bf16(1.0f) == 0x3f80);
  CHECK(to_bf16(1.00390625f) == 0x3f80);  // 1 + 2^-8: a tie, to even
  CHECK(to_bf16(1.01171875f) == 0x3f82);  // 1 + 3·2^-8: a tie, to even
  CHECK(to_bf16(1.0039064f) == 0x3f81);
  CHECK(to_bf16(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK(to_bf16(-infinity) == 0xff80);
  CHECK(std::isnan(static_cast<float>(bf16(not_a_number))));
  CHECK(std::isnan(
      static_cast<float>(bf16(std::bit_cast<float>(0x7f800001u)))));  // its set bits are all in the lower half
  CHECK(to_bf16(std::bit_cast<float>(0x00008000u)) == 0x0000);        // half of the smallest subnormal: to even
  CHECK(to_bf16(std::bit_cast<float>(0x00018000u)) == 0x0002);
}

TEST_CASE("f16 rounds to nearest even, subnormals and overflow included") {
  CHECK(to_f16(1.0f) == 0x3c00);
  CHECK(to_f16(-2.5f) == 0xc100);
  CHECK(to_f16(1.00048828125f) == 0x3c00);  // 1 + 2^-11: a tie, to even
  CHECK(to_f16(1.00146484375f) == 0x3c02);
  CHECK(to_f16(65504.0f) == 0x7bff);
  CHECK(to_f16(65519.996f) == 0x7bff);
  CHECK(to_f16(65520.0f) == 0x7c00);
  CHECK(to_f16(-infinity) == 0xfc00);
  CHECK(to_f16(6.1035156e-5f) == 0x0400);  // 2^-14, the smallest normal
  CHECK(to_f16(6.0975552e-5f) == 0x03ff);  // the largest subnormal
  CHECK(to_f16(5.9604645e-8f) == 0x0001);  // 2^-24
  CHECK(to_f16(2.9802322e-8f) == 0x0000);  // 2^-25: a tie, to even
  CHECK(to_f16(2.9802326e-8f) == 0x0001);
  CHECK(to_f16(-0.0f) == 0x8000);
  CHECK(std::isnan(static_cast<float>(f16(not_a_number))));
  CHECK(from_f16(0x0001) == 5.9604645e-8f);
  CHECK(from_f16(0xfc00) == -infinity);
}

TEST_CASE("f16: every value survives the way there and back") {
  int wrong = 0;
  for (int bits = 0; bits < 0x10000; ++bits)
    if (const float x = from_f16(bits); !std::isnan(x)) wrong += to_f16(x) != bits;
  CHECK(wrong == 0);
}

TEST_CASE("conversion: out of range ends at the limit, NaN is 0, anything but 0 is true") {
  const Tensor x = Tensor::from<double>({6}, {1e300, -1e300, std::nan(""), 1e-300, -1.9, 300});
  CHECK(x.to(DType::i64).to_vector<int64_t>() ==
        std::vector<int64_t>{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), 0, 0, -1, 300});
  CHECK(x.to(DType::u8).to_vector<int32_t>() == std::vector<int32_t>{255, 0, 0, 0, 0, 255});
  CHECK(x.to(DType::boolean).to_vector<int32_t>() == std::vector<int32_t>{1, 1, 1, 1, 1, 1});
  CHECK(Tensor::from<float>({3}, {0, -0.0f, 1e-40f}).to(DType::boolean).to_vector<int32_t>() ==
        std::vector<int32_t>{0, 0, 1});
  CHECK(Tensor::from<int64_t>({2}, {1, 3}).to(DType::bf16).to(DType::f64).to_vector<double>() ==
        std::vector<double>{1, 3});
}
