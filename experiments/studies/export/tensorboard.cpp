#include "experiments/studies/export/tensorboard.h"

#include "experiments/output/file.h"
#include "experiments/output/text.h"
#include "experiments/studies/export/event_record.h"
#include "experiments/studies/export/export.h"
#include "experiments/studies/export/protobuf.h"

namespace headroom::experiments {
std::string version_record(double wall_time) {
  return event_record(ProtoMessage().real(1, wall_time).text(3, "brain.Event:2").bytes());
}

std::string start_record(double wall_time) {
  constexpr int64_t step = 0, start = 1;
  return event_record(
      ProtoMessage().real(1, wall_time).integer(2, step).message(7, ProtoMessage().integer(1, start)).bytes());
}

std::string scalar_record(const HistoryPoint& p, double wall_time) {
  const ProtoMessage scalar = ProtoMessage().text(1, p.split + "/" + p.metric).single(2, static_cast<float>(p.value));
  const ProtoMessage summary = ProtoMessage().message(1, scalar);
  return event_record(ProtoMessage().real(1, wall_time).integer(2, p.step).message(5, summary).bytes());
}

std::string event_folder(const std::string& words, const std::string& id) {
  constexpr size_t longest = 200;  // all of a trial's words may be longer than a file's name
  return slug(words).substr(0, longest) + "-" + id.substr(0, 8);
}

size_t export_tensorboard(const StoredTrials& trials, const std::filesystem::path& folder) {
  size_t count = 0;
  trials.each([&](const StoredPlace& place, const TrialRecord& r) {
    ++count;
    std::string file = version_record(0);
    for (const HistoryPoint& p : r.history) file += scalar_record(p, 0);
    for (const auto& [metric, value] : r.test) file += scalar_record({r.steps, "test", metric, value}, 0);
    const std::filesystem::path run = folder / place.study / place.profile / event_folder(place.words(r), r.id);
    make_folder(run);
    write_file(run / "events.out.tfevents.0.headroom", file);
  });
  return count;
}

}  // namespace headroom::experiments
