#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace headroom::experiments {

/// An unsigned number's bytes, the lowest first.
template <class T>
std::string little_endian(T bits) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(bits >> (8 * i) & 0xff);
  return bytes;
}

/// A message in protobuf's wire format, written field by field: https://protobuf.dev/programming-guides/encoding/. The
/// functions return the message itself.
class ProtoMessage {
 public:
  /// int32, int64 or an enum.
  ProtoMessage& integer(uint32_t field, int64_t value) { return add(field, 0, varint(static_cast<uint64_t>(value))); }
  /// double.
  ProtoMessage& real(uint32_t field, double value) {
    return add(field, 1, little_endian(std::bit_cast<uint64_t>(value)));
  }
  /// string or bytes.
  ProtoMessage& text(uint32_t field, std::string_view value) { return add(field, 2, varint(value.size()), value); }
  /// A message within this one.
  ProtoMessage& message(uint32_t field, const ProtoMessage& value) { return text(field, value.bytes()); }
  /// float.
  ProtoMessage& single(uint32_t field, float value) {
    return add(field, 5, little_endian(std::bit_cast<uint32_t>(value)));
  }

  const std::string& bytes() const { return bytes_; }

 private:
  static std::string varint(uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
    return bytes + static_cast<char>(value);
  }
  ProtoMessage& add(uint32_t field, uint32_t wire_type, const std::string& value, std::string_view more = {}) {
    bytes_.append(varint(field << 3 | wire_type)).append(value).append(more);
    return *this;
  }

  std::string bytes_;
};

}  // namespace headroom::experiments
