#pragma once
#include <algorithm>
#include <boost/crc.hpp>
#include <cstdint>
#include <string>

#include "experiments/studies/export/protobuf.h"

namespace headroom::experiments {

/// The file of a W&B run, run-ID.wandb: the seven bytes ":W&B", 0xBEE1 (u16), version 0 (u8), then records in LevelDB's
/// log format (https://github.com/google/leveldb/blob/main/doc/log_format.md): blocks of 32 KiB, the first of which
/// begins with those seven bytes, of chunks: checksum (u32), length (u16), type (u8: 1 a whole record, 2 its first
/// part, 3 one within, 4 its last), data; little-endian. A block ends with zeros where fewer than seven bytes are left.
/// The checksum is zlib's CRC-32 of type and data, not LevelDB's masked CRC-32C.
class WandbLog {
 public:
  /// One record: a serialized message `Record` of W&B.
  void add(const std::string& record) {
    constexpr size_t block_size = 32768, chunk_head = 7;
    enum : char { whole = 1, first, middle, last };
    size_t at = 0;
    for (bool is_first = true, is_last = false; !is_last; is_first = false) {
      size_t room = block_size - bytes_.size() % block_size;
      if (room < chunk_head) {
        bytes_.append(room, '\0');
        room = block_size;
      }
      const size_t size = std::min(record.size() - at, room - chunk_head);
      is_last = at + size == record.size();
      add_chunk(is_first ? (is_last ? whole : first) : is_last ? last : middle, record.substr(at, size));
      at += size;
    }
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void add_chunk(char type, const std::string& data) {
    boost::crc_32_type crc;
    crc.process_byte(static_cast<unsigned char>(type));
    crc.process_bytes(data.data(), data.size());
    bytes_ += little_endian<uint32_t>(crc.checksum()) + little_endian(static_cast<uint16_t>(data.size())) + type + data;
  }

  std::string bytes_ = ":W&B" + little_endian<uint16_t>(0xBEE1) + '\0';
};

}  // namespace headroom::experiments
