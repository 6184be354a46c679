#pragma once
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace headroom::experiments {

/// An unsigned number of the first bytes, the lowest first; the text must have them.
template <class T>
T little_endian_at(std::string_view bytes) {
  T value = 0;
  for (size_t i = sizeof(T); i-- > 0;) value = static_cast<T>(value << 8 | static_cast<unsigned char>(bytes[i]));
  return value;
}

/// Reads a message in protobuf's wire format field by field: https://protobuf.dev/programming-guides/encoding/. Damaged
/// bytes end it.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  /// Goes to the next field; false at the end.
  bool next() {
    uint64_t tag = 0;
    if (!varint(tag)) return false;
    field_ = static_cast<uint32_t>(tag >> 3);
    value_ = 0;
    text_ = {};
    switch (tag & 7) {
      case 0:
        return varint(value_);
      case 1:
        return take(8) && (value_ = little_endian_at<uint64_t>(text_), true);
      case 2:
        return varint(value_) && take(value_);
      case 5:
        return take(4) && (value_ = little_endian_at<uint32_t>(text_), true);
      default:
        return false;
    }
  }
  uint32_t field() const { return field_; }
  int64_t integer() const { return static_cast<int64_t>(value_); }
  double real() const { return std::bit_cast<double>(value_); }
  float single() const { return std::bit_cast<float>(static_cast<uint32_t>(value_)); }
  /// Of a string, bytes, or a message.
  std::string_view text() const { return text_; }
  std::string str() const { return std::string(text_); }
  WireReader message() const { return WireReader(text_); }

 private:
  bool varint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool take(uint64_t length) {
    if (length > rest_.size()) return false;
    text_ = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return true;
  }

  std::string_view rest_, text_;
  uint32_t field_ = 0;
  uint64_t value_ = 0;
};

}  // namespace headroom::experiments
