#include "experiments/export/tensorboard.h"

#include <fmt/format.h>

#include <boost/crc.hpp>
#include <cstring>

#include "experiments/export/export.h"
#include "experiments/report/file.h"
#include "experiments/report/text.h"

namespace headroom::experiments {
namespace {

enum WireType : uint32_t { varint = 0, fixed64 = 1, delimited = 2, fixed32 = 5 };

template <class T>
std::string little_endian(T bits) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(bits >> (8 * i) & 0xff);
  return bytes;
}

std::string varint_bytes(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string key(uint32_t field, WireType type) { return varint_bytes(field << 3 | type); }

std::string message(uint32_t field, const std::string& bytes) {
  return key(field, delimited) + varint_bytes(bytes.size()) + bytes;
}

template <class To, class From>
To bits_of(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// Event's first field, wall_time: no time is kept along a trial.
std::string wall_time() { return key(1, fixed64) + little_endian(bits_of<uint64_t>(0.0)); }

}  // namespace

uint32_t crc32c(const std::string& bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

std::string tfrecord(const std::string& payload) {
  const auto masked = [](const std::string& bytes) {
    const uint32_t crc = crc32c(bytes);
    return little_endian<uint32_t>((crc >> 15 | crc << 17) + 0xa282ead8U);
  };
  const std::string length = little_endian<uint64_t>(payload.size());
  return length + masked(length) + payload + masked(payload);
}

std::string version_event() { return wall_time() + message(3, "brain.Event:2"); }

std::string scalar_event(int64_t step, const std::string& tag, float value) {
  const std::string scalar = message(1, tag) + key(2, fixed32) + little_endian(bits_of<uint32_t>(value));
  return wall_time() + key(2, varint) + varint_bytes(static_cast<uint64_t>(step)) + message(5, message(1, scalar));
}

size_t export_tensorboard(const StoredTrials& trials, const std::filesystem::path& folder) {
  size_t count = 0;
  trials.each([&](const StoredTrial& trial) {
    ++count;
    const TrialRecord& r = trial.record;
    std::string file = tfrecord(version_event());
    const auto add = [&](int64_t step, const std::string& split, const std::string& metric, double value) {
      file += tfrecord(scalar_event(step, fmt::format("{}/{}", split, metric), static_cast<float>(value)));
    };
    for (const HistoryPoint& p : r.history) add(p.step, p.split, p.metric, p.value);
    for (const auto& [metric, value] : r.test) add(r.steps, "test", metric, value);
    // A part of the id keeps apart what reads alike: "1e-3" and "1e3".
    // The whole config may be longer than a file name.
    const std::string name =
        slug(trial.config).substr(0, 150) + "-seed-" + std::to_string(r.seed) + "-" + r.id.substr(0, 8);
    const std::filesystem::path run = folder / trial.study / trial.profile / name;
    make_folder(run);
    write_file(run / "events.out.tfevents.0.headroom", file);
  });
  return count;
}

}  // namespace headroom::experiments
