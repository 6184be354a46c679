#pragma once
#include <cstdint>
#include <string>

namespace headroom::experiments {

/// CRC-32C (Castagnoli), as in iSCSI.
uint32_t crc32c(const std::string& bytes);

/// One record of a TensorBoard event file: u64 length, masked crc32c of those eight bytes, payload, masked crc32c of
/// the payload; little-endian, mask = rotate right by 15, plus 0xa282ead8.
std::string tfrecord(const std::string& payload);

/// The first payload of every event file: Event { file_version = "brain.Event:2" }.
std::string version_event();

/// Event { step, summary { value { tag, simple_value } } } in protobuf's wire format, with wall_time 0.
std::string scalar_event(int64_t step, const std::string& tag, float value);

}  // namespace headroom::experiments
