#include "experiments/studies/export/wandb_log.h"

#include <algorithm>
#include <boost/crc.hpp>
#include <cstdint>

#include "experiments/studies/export/protobuf.h"

namespace headroom::experiments {
namespace {

constexpr size_t block_size = 32768, chunk_head = 7;

}  // namespace

WandbLog::WandbLog() : bytes_(":W&B" + little_endian<uint16_t>(0xBEE1) + '\0') {}

void WandbLog::add_chunk(char type, const std::string& data) {
  boost::crc_32_type crc;
  crc.process_byte(static_cast<unsigned char>(type));
  crc.process_bytes(data.data(), data.size());
  bytes_ += little_endian<uint32_t>(crc.checksum()) + little_endian(static_cast<uint16_t>(data.size())) + type + data;
}

void WandbLog::add(const std::string& record) {
  enum : char { whole = 1, first, middle, last };
  size_t at = 0;
  bool is_first = true, is_last = false;
  while (!is_last) {
    size_t room = block_size - bytes_.size() % block_size;
    if (room < chunk_head) {
      bytes_.append(room, '\0');
      room = block_size;
    }
    const size_t size = std::min(record.size() - at, room - chunk_head);
    is_last = at + size == record.size();
    add_chunk(is_first ? (is_last ? whole : first) : is_last ? last : middle, record.substr(at, size));
    at += size;
    is_first = false;
  }
}

}  // namespace headroom::experiments
