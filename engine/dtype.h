#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/host_device.h"

namespace headroom::engine {

enum class DType : uint8_t { f32, bf16, f16, f64, i64, i32, i8, u8, boolean };

/// A set of dtypes: DType::f32 | DType::f64.
class DTypeSet {
 public:
  constexpr DTypeSet() noexcept : bits_(0) {}
  constexpr DTypeSet(DType dtype) : bits_(bit(dtype)) {}
  constexpr bool contains(DType dtype) const { return (bits_ & bit(dtype)) != 0; }
  constexpr DTypeSet operator|(DTypeSet other) const {
    DTypeSet set;
    set.bits_ = static_cast<uint16_t>(bits_ | other.bits_);
    return set;
  }

 private:
  static constexpr uint16_t bit(DType dtype) { return static_cast<uint16_t>(1u << static_cast<unsigned>(dtype)); }
  uint16_t bits_;
};
constexpr DTypeSet operator|(DType a, DType b) { return DTypeSet(a) | DTypeSet(b); }
inline constexpr DTypeSet every_dtype = DTypeSet(DType::f32) | DType::bf16 | DType::f16 | DType::f64 | DType::i64 |
                                        DType::i32 | DType::i8 | DType::u8 | DType::boolean;
/// "f32, f64".
std::string str(DTypeSet dtypes);

/// Bytes per element.
int64_t size_of(DType dtype);
/// "f32", "bf16", …, "bool".
const char* name_of(DType dtype);
/// The dtype with that name. Throws Error that lists the known names.
DType dtype_named(std::string_view name);
bool is_floating(DType dtype);

/// Brain float: the upper half of an f32, rounded to nearest even.
struct bf16 {
  uint16_t bits = 0;
  bf16() = default;
  HEADROOM_HD explicit bf16(float x) {
    const auto u = std::bit_cast<uint32_t>(x);
    const bool nan = (u & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<uint16_t>(nan ? (u >> 16) | 0x40u : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
  HEADROOM_HD explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

/// IEEE 754 binary16, rounded to nearest even.
struct f16 {
  uint16_t bits = 0;
  f16() = default;
  HEADROOM_HD explicit f16(float x) {
    const auto u = std::bit_cast<uint32_t>(x);
    const auto sign = static_cast<uint16_t>((u >> 16) & 0x8000u);
    const uint32_t magnitude = u & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {  // NaN stays NaN, quiet
      bits = static_cast<uint16_t>(sign | 0x7e00u);
    } else if (magnitude >= 0x477ff000u) {  // rounds to 65520 or more: infinity
      bits = static_cast<uint16_t>(sign | 0x7c00u);
    } else if (magnitude < 0x38800000u) {  // below 2^-14: a subnormal, a multiple of 2^-24
      const float multiple = std::nearbyint(std::bit_cast<float>(magnitude) * 16777216.0f);
      bits = static_cast<uint16_t>(sign | static_cast<uint16_t>(multiple));
    } else {
      const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
      bits = static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
    }
  }
  HEADROOM_HD explicit operator float() const {
    const uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 0x1fu, fraction = bits & 0x3ffu;
    if (exponent == 0) {
      const float magnitude = static_cast<float>(fraction) * 5.9604644775390625e-8f;  // 2^-24
      return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
    }
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  }
};

/// The DType of a C++ scalar type.
template <class T>
constexpr DType dtype_of();
// clang-format off
template <> constexpr DType dtype_of<float>() { return DType::f32; }
template <> constexpr DType dtype_of<bf16>() { return DType::bf16; }
template <> constexpr DType dtype_of<f16>() { return DType::f16; }
template <> constexpr DType dtype_of<double>() { return DType::f64; }
template <> constexpr DType dtype_of<int64_t>() { return DType::i64; }
template <> constexpr DType dtype_of<int32_t>() { return DType::i32; }
template <> constexpr DType dtype_of<int8_t>() { return DType::i8; }
template <> constexpr DType dtype_of<uint8_t>() { return DType::u8; }
template <> constexpr DType dtype_of<bool>() { return DType::boolean; }
// clang-format on

/// Calls `f` with a value of `dtype`'s C++ type, any of the nine.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float{});
    case DType::bf16:
      return f(bf16{});
    case DType::f16:
      return f(f16{});
    case DType::f64:
      return f(double{});
    case DType::i64:
      return f(int64_t{});
    case DType::i32:
      return f(int32_t{});
    case DType::i8:
      return f(int8_t{});
    case DType::u8:
      return f(uint8_t{});
    case DType::boolean:
      break;
  }
  return f(bool{});
}

/// Calls `f` with an unsigned integer of the size of `dtype`'s elements: for what only moves them.
template <class F>
decltype(auto) visit_word(DType dtype, F&& f) {
  switch (size_of(dtype)) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

}  // namespace headroom::engine
