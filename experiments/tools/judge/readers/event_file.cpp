#include <fmt/format.h>

#include <algorithm>

#include "experiments/output/number.h"
#include "experiments/studies/export/event_record.h"
#include "experiments/tools/judge/readers/logs.h"
#include "experiments/tools/judge/readers/wire.h"
#include "models/files/regular_file.h"

namespace headroom::experiments {
namespace {

// Fields of tensorboard/compat/proto/{event,summary,tensor}.proto and plugins/hparams/plugin_data.proto, which files on
// disk hold, so that they keep their numbers.
struct EventField {
  enum : uint32_t { wall_time = 1, step = 2, summary = 5 };
};
struct SummaryField {
  enum : uint32_t { tag = 1, simple_value = 2, tensor = 8, metadata = 9 };
};
struct TensorField {
  enum : uint32_t { dtype = 1, content = 4, floats = 5, doubles = 6 };
};

/// The one number of a scalar as TensorFlow 2 writes it.
std::optional<double> scalar_of(WireReader tensor) {
  std::optional<double> value;
  int64_t dtype = 1;
  while (tensor.next()) {
    const std::string_view bytes = tensor.text();
    if (tensor.field() == TensorField::dtype) dtype = tensor.integer();
    const bool is_float =
        tensor.field() == TensorField::floats || (tensor.field() == TensorField::content && dtype == 1);
    const bool is_double =
        tensor.field() == TensorField::doubles || (tensor.field() == TensorField::content && dtype == 2);
    if (is_float && bytes.size() == 4) value = std::bit_cast<float>(little_endian_at<uint32_t>(bytes));
    if (is_double && bytes.size() == 8) value = std::bit_cast<double>(little_endian_at<uint64_t>(bytes));
  }
  return value;
}

/// A google.protobuf.Value: null, number, string or bool.
std::string value_text(WireReader value) {
  while (value.next()) {
    if (value.field() == 2) return exact(value.real());
    if (value.field() == 3) return value.str();
    if (value.field() == 4) return value.integer() ? "true" : "false";
  }
  return "";
}

/// SummaryMetadata.plugin_data.content of the HParams plugin: the start of a session (3) or its end (4).
void read_hparams(WireReader metadata, ForeignRun& run) {
  while (metadata.next()) {
    if (metadata.field() != 1) continue;
    for (WireReader plugin = metadata.message(); plugin.next();) {
      if (plugin.field() != 2) continue;
      for (WireReader content = plugin.message(); content.next();) {
        if (content.field() != 3 && content.field() != 4) continue;
        for (WireReader session = content.message(); session.next();) {
          if (content.field() == 4 && session.field() == 1 && session.integer() > 1) {
            run.end = session.integer() == 3 ? RunEnd::running : RunEnd::failed;
            run.said = fmt::format("hparams status {}", session.integer());
          }
          if (content.field() != 3 || session.field() != 1) continue;
          std::string key, value;
          for (WireReader entry = session.message(); entry.next();)
            if (entry.field() == 1) key = entry.str();
            else if (entry.field() == 2) value = value_text(entry.message());
          run.parameters[key] = value;
        }
      }
    }
  }
}

void read_event(WireReader event, ForeignRun& run) {
  int64_t step = 0;
  std::vector<WireReader> summaries;
  while (event.next())
    if (event.field() == EventField::step) step = event.integer();
    else if (event.field() == EventField::wall_time && event.real() > 0 && event.real() < 1e11) {
      run.began = run.began > 0 ? std::min(run.began, event.real()) : event.real();
      run.ended = std::max(run.ended, event.real());
    } else if (event.field() == EventField::summary) summaries.push_back(event.message());
  for (WireReader& summary : summaries)
    while (summary.next()) {
      if (summary.field() != 1) continue;
      std::string tag;
      std::optional<double> value;
      for (WireReader one = summary.message(); one.next();)
        if (one.field() == SummaryField::tag) tag = one.str();
        else if (one.field() == SummaryField::simple_value) value = one.single();
        else if (one.field() == SummaryField::tensor) value = scalar_of(one.message());
        else if (one.field() == SummaryField::metadata) read_hparams(one.message(), run);
      if (value && step >= 0 && !tag.starts_with("_hparams_/")) run.metrics[tag][step] = *value;
    }
}

}  // namespace

void read_event_file(const std::filesystem::path& file, ForeignRun& run, std::vector<std::string>& problems) {
  constexpr models::FileKind kind{"event file", uint64_t{1} << 28};
  const std::string bytes = models::read_file(file, kind);
  size_t at = 0;
  while (at + 12 <= bytes.size()) {
    const std::string_view head = std::string_view(bytes).substr(at);
    const auto length = little_endian_at<uint64_t>(head);
    if (masked_crc32c(bytes.substr(at, 8)) != little_endian_at<uint32_t>(head.substr(8)) ||
        length > bytes.size() - at - 12 || bytes.size() - at - 12 - length < 4)
      break;
    const std::string record = bytes.substr(at + 12, length);
    if (masked_crc32c(record) != little_endian_at<uint32_t>(head.substr(12 + length))) break;
    read_event(WireReader(record), run);
    at += 16 + length;
  }
  if (at < bytes.size())
    problems.push_back(fmt::format("{}: cut short or damaged after {} of {} bytes, and read up to there", file.string(),
                                   at, bytes.size()));
}

}  // namespace headroom::experiments
