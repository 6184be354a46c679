#include "experiments/studies/export/protobuf.h"

#include <bit>

namespace headroom::experiments {
namespace {

enum WireType : uint32_t { varint = 0, fixed64 = 1, delimited = 2, fixed32 = 5 };

std::string varint_bytes(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string key(uint32_t field, WireType type) { return varint_bytes(field << 3 | type); }

}  // namespace

ProtoMessage& ProtoMessage::integer(uint32_t field, int64_t value) {
  bytes_ += key(field, varint) + varint_bytes(static_cast<uint64_t>(value));
  return *this;
}

ProtoMessage& ProtoMessage::single(uint32_t field, float value) {
  bytes_ += key(field, fixed32) + little_endian(std::bit_cast<uint32_t>(value));
  return *this;
}

ProtoMessage& ProtoMessage::real(uint32_t field, double value) {
  bytes_ += key(field, fixed64) + little_endian(std::bit_cast<uint64_t>(value));
  return *this;
}

ProtoMessage& ProtoMessage::text(uint32_t field, std::string_view value) {
  bytes_ += key(field, delimited) + varint_bytes(value.size());
  bytes_ += value;
  return *this;
}

}  // namespace headroom::experiments
