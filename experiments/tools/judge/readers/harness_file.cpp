#include <fmt/format.h>

#include "engine/error.h"
#include "experiments/tools/judge/readers/json_leaves.h"
#include "experiments/tools/judge/readers/logs.h"
#include "models/files/regular_file.h"

namespace headroom::experiments {
namespace {

const ForeignJson& member(const ForeignJson& object, const char* name) {
  static const ForeignJson none = ForeignJson::object();
  const auto found = object.find(name);
  return found != object.end() ? *found : none;
}

std::optional<double> number_in(const ForeignJson& value) {
  if (value.is_number()) return value.get<double>();
  return value.is_string() ? foreign_number(value.get_ref<const std::string&>()) : std::nullopt;
}

/// "pretrained=gpt2,dtype=float32" as settings; a value may hold commas in brackets, as lists do.
void add_model_args(ForeignRun& run, const std::string& text) {
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += c == '[' || c == '{' || c == '(' ? 1 : c == ']' || c == '}' || c == ')' ? -1 : 0;
    if (i < text.size() && (c != ',' || depth > 0)) continue;
    const std::string word = text.substr(begin, i - begin);
    if (const size_t equals = word.find('='); equals != std::string::npos && equals > 0)
      run.parameters.emplace(word.substr(0, equals), word.substr(equals + 1));
    begin = i + 1;
  }
}

/// The metrics of a task: "acc,none" and the like. Standard errors are none, nor is what has no filter.
void add_task(ForeignRun& run, const std::string& task, const ForeignJson& results) {
  for (const auto& [key, value] : results.items()) {
    const size_t comma = key.rfind(',');
    if (comma == std::string::npos) continue;
    const std::string metric = key.substr(0, comma), filter = key.substr(comma);
    const auto number = number_in(value);
    if (!number || metric.ends_with("_stderr")) continue;
    run.metrics[fmt::format("{}/{}{}", task, metric, filter == ",none" ? "" : filter)][0] = *number;
  }
}

}  // namespace

std::optional<ForeignRun> read_harness_file(const std::filesystem::path& file) {
  constexpr models::FileKind kind{"file of results", uint64_t{1} << 26};
  const ForeignJson json = foreign_json(models::read_file(file, kind));
  require(!json.is_discarded(), "{}: no JSON, or cut short", file.string());
  if (!json.is_object() || !json.contains("results") || !json.contains("config") || !json["results"].is_object() ||
      !json["config"].is_object())
    return std::nullopt;
  ForeignRun run{.source = file.string(), .parameters = {}, .metrics = {}};
  for (const auto& [task, results] : member(json, "results").items())
    if (results.is_object()) add_task(run, task, results);
  for (const auto& [name, value] : member(json, "config").items())
    if (name != "model_args")
      each_leaf(value, name,
                [&](const std::string& path, std::string text) { run.parameters[path] = std::move(text); });
  const ForeignJson& arguments = member(member(json, "config"), "model_args");
  if (arguments.is_string()) add_model_args(run, arguments.get<std::string>());
  else
    each_leaf(arguments, "",
              [&](const std::string& path, std::string text) { run.parameters.emplace(path, std::move(text)); });
  std::set<std::string> shots;
  for (const auto& [task, value] : member(json, "n-shot").items())
    if (value.is_number_integer()) shots.insert(value.dump());
  if (shots.size() == 1) run.parameters.emplace("num_fewshot", *shots.begin());
  run.began = number_in(member(json, "date")).value_or(0);
  if (const auto seconds = number_in(member(json, "total_evaluation_time_seconds"))) run.ended = run.began + *seconds;
  return run;
}

}  // namespace headroom::experiments
