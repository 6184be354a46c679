#pragma once
#include <string>

namespace headroom::experiments {

/// The file of a W&B run, run-ID.wandb: the seven bytes ":W&B", 0xBEE1 (u16), version 0 (u8), then records in LevelDB's
/// log format (https://github.com/google/leveldb/blob/main/doc/log_format.md): blocks of 32 KiB, the first of which
/// begins with those seven bytes, of chunks: checksum (u32), length (u16), type (u8: 1 a whole record, 2 its first
/// part, 3 one within, 4 its last), data; little-endian. A block ends with zeros where fewer than seven bytes are left.
/// The checksum is zlib's CRC-32 of type and data, not LevelDB's masked CRC-32C.
class WandbLog {
 public:
  WandbLog();
  /// One record: a serialized message `Record` of W&B.
  void add(const std::string& record);
  const std::string& bytes() const { return bytes_; }

 private:
  void add_chunk(char type, const std::string& data);

  std::string bytes_;
};

}  // namespace headroom::experiments
