#include <fmt/format.h>

#include <boost/crc.hpp>

#include "experiments/tools/judge/readers/json_leaves.h"
#include "experiments/tools/judge/readers/logs.h"
#include "experiments/tools/judge/readers/wire.h"
#include "models/files/regular_file.h"

namespace headroom::experiments {
namespace {

// Fields of the messages in wandb/proto/wandb_internal.proto.
struct RecordOf {
  enum : uint32_t { history = 2, config = 5, run = 17, exit = 18 };
};

/// A key and its JSON: ConfigItem and HistoryItem alike; nested keys stand one by one.
std::pair<std::string, std::string> item_of(WireReader item) {
  std::string key, json;
  while (item.next())
    if (item.field() == 1) key = item.str();
    else if (item.field() == 2) key += (key.empty() ? "" : ".") + item.str();
    else if (item.field() == 16) json = item.str();
  return {key, json};
}

void read_config(WireReader config, ForeignRun& run) {
  while (config.next())
    if (config.field() == 1)
      if (const auto [key, json] = item_of(config.message()); !key.starts_with("_wandb"))
        add_json_parameters(run, key, json);
}

/// Seconds of a google.protobuf.Timestamp.
double seconds_of(WireReader time) {
  double seconds = 0;
  while (time.next())
    if (time.field() == 1) seconds += static_cast<double>(time.integer());
    else if (time.field() == 2) seconds += 1e-9 * static_cast<double>(time.integer());
  return seconds > 0 && seconds < 1e11 ? seconds : 0;
}

/// The longest runtime counts: the end's stands before the last history in some files, and in whole seconds.
void set_runtime(ForeignRun& run, double seconds) {
  if (run.began > 0 && seconds >= 0 && seconds < 1e11) run.ended = std::max(run.ended, run.began + seconds);
}

void read_history(WireReader history, ForeignRun& run) {
  std::map<std::string, double> values;
  int64_t step = 0;
  while (history.next()) {
    if (history.field() == 1) {
      const auto [key, json] = item_of(history.message());
      const auto add = [&](const std::string& path, const std::string& text) {
        if (const auto number = foreign_number(text)) values[path] = *number;
      };
      if (json.starts_with("{")) each_leaf(foreign_json(json), key, add);  // as releases before 0.13 nest
      else add(key, json);
    } else if (history.field() == 2) {
      for (WireReader one = history.message(); one.next();)
        if (one.field() == 1) step = one.integer();
    }
  }
  if (const auto own = values.find("_step"); own != values.end() && own->second >= 0 && own->second < 9e15)
    step = static_cast<int64_t>(own->second);
  if (const auto runtime = values.find("_runtime"); runtime != values.end()) set_runtime(run, runtime->second);
  for (const auto& [key, value] : values)
    if (!key.starts_with("_")) run.metrics[key][std::max<int64_t>(step, 0)] = value;
}

void read_record(WireReader record, ForeignRun& run) {
  while (record.next()) {
    WireReader message = record.message();
    if (record.field() == RecordOf::history) read_history(message, run);
    if (record.field() == RecordOf::config) read_config(message, run);
    if (record.field() == RecordOf::run) {
      while (message.next())
        if (message.field() == 4) read_config(message.message(), run);
        else if (message.field() == 8) run.parameters["run_name"] = message.str();
        else if (message.field() == 17) run.began = seconds_of(message.message());
    }
    if (record.field() == RecordOf::exit) {
      int64_t code = 0;
      while (message.next())
        if (message.field() == 1) code = message.integer();
        else if (message.field() == 2 && message.integer() > 0)
          set_runtime(run, static_cast<double>(message.integer()));
      run.end = code == 0 ? RunEnd::finished : RunEnd::failed;
      run.said = fmt::format("exit code {}", code);
    }
  }
}

}  // namespace

void add_json_parameters(ForeignRun& run, const std::string& name, const std::string& json) {
  const ForeignJson root = foreign_json(json);
  std::map<std::string, std::string> leaves;  // the first of one path counts
  each_leaf(root.is_discarded() ? ForeignJson(json) : root, name,
            [&](const std::string& path, std::string text) { leaves.emplace(path, std::move(text)); });
  for (auto& [path, text] : leaves) run.parameters[path] = std::move(text);
}

ForeignRun read_wandb_file(const std::filesystem::path& file, std::vector<std::string>& problems) {
  constexpr models::FileKind kind{"W&B file", uint64_t{1} << 28};
  constexpr size_t block_size = 32768, chunk_head = 7;
  const std::string bytes = models::read_file(file, kind);
  ForeignRun run{
      .source = file.string(), .parameters = {}, .metrics = {}, .end = RunEnd::running, .said = "no end in its file"};
  std::string record;
  size_t at = 7;
  const bool is_log = bytes.starts_with(":W&B");
  while (is_log && at + chunk_head <= bytes.size()) {
    if (const size_t room = block_size - at % block_size; room < chunk_head) {
      at += room;
      continue;
    }
    const std::string_view head = std::string_view(bytes).substr(at);
    const auto length = little_endian_at<uint16_t>(head.substr(4));
    const char type = head[6];
    boost::crc_32_type crc;
    if (length > head.size() - chunk_head || type < 1 || type > 4) break;
    crc.process_bytes(head.data() + 6, size_t{1} + length);
    if (crc.checksum() != little_endian_at<uint32_t>(head)) break;
    if (type < 3) record.clear();
    record += head.substr(chunk_head, length);
    if (type == 1 || type == 4) read_record(WireReader(record), run);
    at += chunk_head + length;
  }
  if (at < bytes.size() || !is_log)
    problems.push_back(is_log ? fmt::format("{}: cut short or damaged after {} of {} bytes, and read up to there",
                                            file.string(), at, bytes.size())
                              : fmt::format("{}: not the record log of a W&B run", file.string()));
  return run;
}

}  // namespace headroom::experiments
