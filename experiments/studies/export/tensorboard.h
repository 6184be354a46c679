#pragma once
#include <cstdint>
#include <string>

namespace headroom::experiments {

/// CRC-32C (Castagnoli), as in iSCSI.
uint32_t crc32c(const std::string& bytes);

/// One record of a TensorBoard event file: u64 length, masked crc32c of those eight bytes, payload, masked crc32c of
/// the payload; little-endian, mask = rotate right by 15, plus 0xa282ead8.
std::string tfrecord(const std::string& payload);

// Events in protobuf's wire format; `wall_time` is in seconds since 1970.

/// The first payload of every event file: Event { file_version = "brain.Event:2" }.
std::string version_event(double wall_time = 0);

/// Event { step, session_log { status = START } }: readers forget what other event files of the folder have from that
/// step on.
std::string start_event(int64_t step, double wall_time);

/// Event { step, summary { value { tag, simple_value } } }.
std::string scalar_event(int64_t step, const std::string& tag, float value, double wall_time = 0);

}  // namespace headroom::experiments
