#pragma once
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
  ProtoMessage& integer(uint32_t field, int64_t value);
  /// float.
  ProtoMessage& single(uint32_t field, float value);
  /// double.
  ProtoMessage& real(uint32_t field, double value);
  /// string or bytes.
  ProtoMessage& text(uint32_t field, std::string_view value);
  /// A message within this one.
  ProtoMessage& message(uint32_t field, const ProtoMessage& value) { return text(field, value.bytes()); }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace headroom::experiments
