#pragma once
#include <boost/crc.hpp>
#include <cstdint>
#include <string>

#include "experiments/studies/export/protobuf.h"

namespace headroom::experiments {

/// CRC-32C (Castagnoli), as in iSCSI.
inline uint32_t crc32c(const std::string& bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

/// A checksum as TensorBoard's files have it: rotated right by 15, plus 0xa282ead8.
inline uint32_t masked_crc32c(const std::string& bytes) {
  const uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

/// An event as one record: u64 length, masked checksum of those eight bytes, event, masked checksum of the event;
/// little-endian.
inline std::string event_record(const std::string& event) {
  const std::string length = little_endian<uint64_t>(event.size());
  return length + little_endian(masked_crc32c(length)) + event + little_endian(masked_crc32c(event));
}

}  // namespace headroom::experiments
