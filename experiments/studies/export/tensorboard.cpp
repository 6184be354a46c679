#include "experiments/studies/export/tensorboard.h"

#include <boost/crc.hpp>

#include "experiments/output/file.h"
#include "experiments/studies/export/event_file.h"
#include "experiments/studies/export/export.h"
#include "experiments/studies/export/protobuf.h"

namespace headroom::experiments {

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

std::string version_event(double wall_time) {
  return ProtoMessage().real(1, wall_time).text(3, "brain.Event:2").bytes();
}

std::string start_event(int64_t step, double wall_time) {
  constexpr int64_t start = 1;
  return ProtoMessage().real(1, wall_time).integer(2, step).message(7, ProtoMessage().integer(1, start)).bytes();
}

std::string scalar_event(int64_t step, const std::string& tag, float value, double wall_time) {
  const ProtoMessage scalar = ProtoMessage().text(1, tag).single(2, value);
  const ProtoMessage summary = ProtoMessage().message(1, scalar);
  return ProtoMessage().real(1, wall_time).integer(2, step).message(5, summary).bytes();
}

size_t export_tensorboard(const StoredTrials& trials, const std::filesystem::path& folder) {
  size_t count = 0;
  trials.each([&](const StoredPlace& place, const TrialRecord& r) {
    ++count;
    std::string file = tfrecord(version_event());
    for (const HistoryPoint& p : r.history) file += scalar_record(p, 0);
    for (const auto& [metric, value] : r.test) file += scalar_record({r.steps, "test", metric, value}, 0);
    const std::filesystem::path run = folder / place.study / place.profile / event_folder(place.words(r), r.id);
    make_folder(run);
    write_file(run / "events.out.tfevents.0.headroom", file);
  });
  return count;
}

}  // namespace headroom::experiments
