#include "engine/dtype.h"

#include <array>
#include <cmath>

#include "engine/error.h"

namespace headroom::engine {
namespace {

struct Row {
  DType dtype;
  const char* name;
  int64_t bytes;
};
constexpr std::array<Row, 9> rows{{{DType::f32, "f32", 4},
                                   {DType::bf16, "bf16", 2},
                                   {DType::f16, "f16", 2},
                                   {DType::f64, "f64", 8},
                                   {DType::i64, "i64", 8},
                                   {DType::i32, "i32", 4},
                                   {DType::i8, "i8", 1},
                                   {DType::u8, "u8", 1},
                                   {DType::boolean, "bool", 1}}};

}  // namespace

int64_t size_of(DType dtype) { return rows[static_cast<size_t>(dtype)].bytes; }
const char* name_of(DType dtype) { return rows[static_cast<size_t>(dtype)].name; }

std::string str(DTypeSet dtypes) {
  std::string text;
  for (const Row& row : rows)
    if (dtypes.contains(row.dtype)) text += (text.empty() ? "" : ", ") + std::string(row.name);
  return text;
}

DType dtype_named(std::string_view name) {
  std::string known;
  for (const Row& row : rows) {
    if (name == row.name) return row.dtype;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  fail("dtype: unknown name '{}'; known: {}", name, known);
}

bool is_floating(DType dtype) { return dtype <= DType::f64; }

f16::f16(float x) {
  const auto u = std::bit_cast<uint32_t>(x);
  const auto sign = static_cast<uint16_t>((u >> 16) & 0x8000u);
  const uint32_t magnitude = u & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {  // NaN stays NaN, quiet
    bits = static_cast<uint16_t>(sign | 0x7e00u);
  } else if (magnitude >= 0x477ff000u) {  // rounds to 65520 or more: infinity
    bits = static_cast<uint16_t>(sign | 0x7c00u);
  } else if (magnitude < 0x38800000u) {  // below 2^-14: a subnormal, a multiple of 2^-24
    bits = static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(std::fabs(x), 24))));
  } else {
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    bits = static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
  }
}

f16::operator float() const {
  const uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 0x1fu, fraction = bits & 0x3ffu;
  if (exponent == 0) return std::copysign(std::ldexp(static_cast<float>(fraction), -24), sign ? -1.0f : 1.0f);
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

}  // namespace headroom::engine
