#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/error.h"

namespace headroom::models {

/// The types of metadata values, numbered as in the file.
enum class GgufValueType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };
/// "u32", …
const char* name_of(GgufValueType type);
/// f() with a 0 of the C++ type that a whole number of that type has. Throws Error for types of other values.
template <class F>
auto with_whole_type(GgufValueType type, const F& f) {
  switch (type) {
    case GgufValueType::u8:
    case GgufValueType::boolean:
      return f(uint8_t{});
    case GgufValueType::i8:
      return f(int8_t{});
    case GgufValueType::u16:
      return f(uint16_t{});
    case GgufValueType::i16:
      return f(int16_t{});
    case GgufValueType::u32:
      return f(uint32_t{});
    case GgufValueType::i32:
      return f(int32_t{});
    case GgufValueType::u64:
      return f(uint64_t{});
    case GgufValueType::i64:
      return f(int64_t{});
    default:
      fail("a whole number has type {}", name_of(type));
  }
}

/// A metadata value of a GGUF file, or an array. Whole numbers and booleans are held as i64, fractions as double.
struct GgufValue {
  GgufValueType type = GgufValueType::u32;  ///< of the value, or of each element
  bool is_array = false;                    ///< else there is one item
  std::variant<std::vector<int64_t>, std::vector<double>, std::vector<std::string>> items;
};

/// Values to be written.
inline GgufValue gguf_u32(int64_t value) { return {GgufValueType::u32, false, std::vector<int64_t>{value}}; }
inline GgufValue gguf_f32(double value) { return {GgufValueType::f32, false, std::vector<double>{value}}; }
inline GgufValue gguf_flag(bool value) { return {GgufValueType::boolean, false, std::vector<int64_t>{value ? 1 : 0}}; }
inline GgufValue gguf_text(std::string value) {
  return {GgufValueType::string, false, std::vector<std::string>{std::move(value)}};
}
inline GgufValue gguf_list(std::vector<std::string> values) { return {GgufValueType::string, true, std::move(values)}; }
inline GgufValue gguf_i32_list(std::vector<int64_t> values) { return {GgufValueType::i32, true, std::move(values)}; }
inline GgufValue gguf_f32_list(std::vector<double> values) { return {GgufValueType::f32, true, std::move(values)}; }

/// A GGUF file's keys and values. Getters throw Error, naming file and key, if the value has another type; those
/// without a default also if it is missing.
class GgufMetadata {
 public:
  /// `source` stands for the file in messages.
  explicit GgufMetadata(std::string source) : source_(std::move(source)) {}
  /// Throws Error for a key given twice.
  void add(const std::string& key, GgufValue value);

  bool contains(const std::string& key) const { return values_.contains(key); }
  const std::map<std::string, GgufValue>& all() const { return values_; }
  /// A whole number from 1 to 2^40: a size, a count.
  int64_t count(const std::string& key) const;
  int64_t count(const std::string& key, int64_t otherwise) const { return contains(key) ? count(key) : otherwise; }
  /// A whole number of any sign.
  std::optional<int64_t> integer(const std::string& key) const;
  /// A finite number above 0.
  double positive(const std::string& key) const;
  double positive(const std::string& key, double otherwise) const { return contains(key) ? positive(key) : otherwise; }
  bool flag(const std::string& key, bool otherwise) const;
  std::string text(const std::string& key) const;
  std::string text(const std::string& key, const std::string& otherwise) const {
    return contains(key) ? text(key) : otherwise;
  }
  const std::vector<std::string>& texts(const std::string& key) const;
  /// Arrays of whole numbers and of fractions.
  const std::vector<int64_t>& integers(const std::string& key) const;
  const std::vector<double>& numbers(const std::string& key) const;
  [[noreturn]] void complain(const std::string& key, const std::string& message) const;

 private:
  template <class T>
  const std::vector<T>& items(const std::string& key, bool is_array, const char* wanted) const;

  std::string source_;
  std::map<std::string, GgufValue> values_;
};

}  // namespace headroom::models
