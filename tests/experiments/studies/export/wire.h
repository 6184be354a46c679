#pragma once
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiments/studies/export/event_record.h"
#include "experiments/studies/export/tensorboard.h"
#include "tests/support/catch.h"

// Readers of what exports write, from the formats' definitions.
namespace headroom::testing {

using experiments::crc32c;

/// The unsigned number whose bytes begin there, the lowest first.
template <class T>
T number_at(const std::string& bytes, size_t at) {
  uint64_t value = 0;
  REQUIRE(at + sizeof(T) <= bytes.size());
  for (size_t i = 0; i < sizeof(T); ++i) value |= uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return static_cast<T>(value);
}

/// The payloads of an event file, every checksum checked.
inline std::vector<std::string> payloads(const std::string& file) {
  const auto unmask = [](uint32_t masked) {
    const uint32_t rotated = masked - 0xa282ead8U;
    return rotated << 15 | rotated >> 17;
  };
  std::vector<std::string> all;
  for (size_t at = 0; at < file.size();) {
    const auto length = number_at<uint64_t>(file, at);
    CHECK(unmask(number_at<uint32_t>(file, at + 8)) == crc32c(file.substr(at, 8)));
    REQUIRE(at + 12 + length + 4 <= file.size());
    all.push_back(file.substr(at + 12, length));
    CHECK(unmask(number_at<uint32_t>(file, at + 12 + length)) == crc32c(all.back()));
    at += 12 + length + 4;
  }
  return all;
}

/// Protobuf fields of one message in their order: number and bytes of the value.
inline std::vector<std::pair<uint64_t, std::string>> field_list(const std::string& bytes) {
  std::vector<std::pair<uint64_t, std::string>> all;
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      REQUIRE(at < bytes.size());
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.size()) {
    const uint64_t key = varint();
    const size_t start = at;
    size_t size = 0;
    if ((key & 7) == 0) {
      varint();
      size = at - start;
      at = start;
    } else if ((key & 7) == 1) {
      size = 8;
    } else if ((key & 7) == 5) {
      size = 4;
    } else {
      REQUIRE((key & 7) == 2);
      size = varint();
    }
    REQUIRE(at + size <= bytes.size());
    all.emplace_back(key >> 3, bytes.substr(at, size));
    at += size;
  }
  return all;
}

/// The same by number: the last of each.
inline std::map<uint64_t, std::string> fields(const std::string& bytes) {
  std::map<uint64_t, std::string> all;
  for (auto& [number, value] : field_list(bytes)) all[number] = std::move(value);
  return all;
}

/// The points of an event file as "STEP SPLIT/METRIC VALUE", and "start STEP" where readers are to forget what older
/// files have.
inline std::vector<std::string> event_lines(const std::string& file) {
  std::vector<std::string> lines;
  for (const std::string& payload : payloads(file)) {
    const auto event = fields(payload);
    const auto varint = [&](uint64_t field) {
      uint64_t value = 0;
      const auto found = event.find(field);
      if (found == event.end()) return value;
      for (size_t i = 0; i < found->second.size(); ++i)
        value |= static_cast<uint64_t>(static_cast<unsigned char>(found->second[i]) & 0x7f) << (7 * i);
      return value;
    };
    if (event.count(7)) lines.push_back("start " + std::to_string(varint(2)));
    if (!event.count(5)) continue;
    const auto scalar = fields(fields(event.at(5)).at(1));
    const auto bits = number_at<uint32_t>(scalar.at(2), 0);
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    lines.push_back(std::to_string(varint(2)) + " " + scalar.at(1) + " " + std::to_string(value));
  }
  return lines;
}

}  // namespace headroom::testing
