#include "tasks/training/checkpoint.h"

#include <bit>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "models/files/json.h"
#include "tasks/data/sha256.h"

namespace headroom::tasks {
namespace {

using nlohmann::json;

constexpr const char* format = "headroom checkpoint 1";

json to_json(const Checkpoint& checkpoint) {
  json state = json::parse(checkpoint.more), schedule = json::array();
  // JSON has no infinity and no NaN: doubles are written as the integers of their bits.
  for (const double x : checkpoint.schedule) schedule.push_back(std::bit_cast<uint64_t>(x));
  state["step"] = checkpoint.step;
  state["streams"] = checkpoint.streams;
  if (checkpoint.seed) state["seed"] = *checkpoint.seed;
  state["schedule"] = schedule;
  state.erase("level");  // of the loaded file
  if (!checkpoint.level.empty()) state["level"] = checkpoint.level;
  return state;
}

void from_json(const json& state, Checkpoint& checkpoint) {
  checkpoint.step = models::whole_number(state.at("step"));
  checkpoint.streams = state.at("streams").get<std::map<std::string, uint64_t>>();
  if (state.contains("seed")) checkpoint.seed = state.at("seed").get<uint64_t>();
  for (const json& x : state.at("schedule")) checkpoint.schedule.push_back(std::bit_cast<double>(x.get<uint64_t>()));
  checkpoint.level = state.value("level", "");
}

/// By name: an order that no writer can change.
using SortedTensors = std::map<std::string, engine::Tensor>;

SortedTensors sorted(const models::NamedTensors& tensors) {
  SortedTensors out;
  for (const auto& [name, tensor] : tensors) out[name] = tensor.to(engine::cpu).contiguous();
  return out;
}

void add_tensors(Sha256& hash, const SortedTensors& tensors) {
  for (const auto& [name, tensor] : tensors) {
    hash.add(name + "\n" + tensor.str());
    hash.add(tensor.raw(), static_cast<size_t>(tensor.numel() * engine::size_of(tensor.dtype())));
  }
}

/// Over everything that a resumed training reads.
std::string checksum(const std::string& owner, const std::string& state, const models::NamedTensors& tensors) {
  Sha256 hash;
  hash.add(owner + "\n" + state);
  add_tensors(hash, sorted(tensors));
  return hash.hex();
}

// Both are there or none: a file that lost one to a flipped bit is not taken for another program's.
constexpr const char* weights_format = "headroom weights 1";
constexpr const char* weights_format_key = "format";
constexpr const char* weights_sum_key = "sha256";

/// Over metadata and tensors in the order of their names.
std::string weights_checksum(const std::map<std::string, std::string>& metadata, const SortedTensors& tensors) {
  Sha256 hash;
  for (const auto& [key, value] : metadata)
    if (key != weights_sum_key) hash.add(fmt::format("{}\n{}\n{}\n", key, value.size(), value));
  add_tensors(hash, tensors);
  return hash.hex();
}

}  // namespace

models::NamedTensors Checkpoint::weights() const {
  const std::string prefix = weight_prefix;
  models::NamedTensors out;
  for (const auto& [name, tensor] : tensors)
    if (name.starts_with(prefix)) out.emplace_back(name.substr(prefix.size()), tensor);
  return out;
}

void save_checkpoint(const std::filesystem::path& path, const std::string& owner, const Checkpoint& checkpoint) {
  const std::string state = to_json(checkpoint).dump();
  models::write_safetensors(
      path, checkpoint.tensors,
      {{"format", format}, {"trial", owner}, {"state", state}, {"sha256", checksum(owner, state, checkpoint.tensors)}});
}

Checkpoint load_checkpoint(const std::filesystem::path& path, const std::string& owner) {
  const models::SafetensorsFile file(path);
  const auto fact = [&](const char* key) {
    const auto found = file.metadata().find(key);
    require(found != file.metadata().end(), "{}: not a checkpoint: no '{}' in its metadata", path.string(), key);
    return found->second;
  };
  require(fact("format") == format, "{}: is '{}', this program reads '{}'", path.string(), fact("format"), format);
  require(fact("trial") == owner, "{}: is of trial {}, not of {}", path.string(), fact("trial"), owner);
  Checkpoint checkpoint;
  for (const std::string& name : file.names()) checkpoint.tensors.emplace_back(name, file.tensor(name));
  checkpoint.more = fact("state");
  require(checksum(owner, checkpoint.more, checkpoint.tensors) == fact("sha256"),
          "{}: its bytes do not have its checksum", path.string());
  try {
    from_json(json::parse(checkpoint.more), checkpoint);
  } catch (const json::exception& error) {
    fail("{}: not a checkpoint: {}", path.string(), plain_words(error.what()));
  } catch (const Error& error) {
    fail("{}: not a checkpoint: {}", path.string(), error.what());
  }
  return checkpoint;
}

std::string save_weights(const std::filesystem::path& path, const models::NamedTensors& tensors,
                         std::map<std::string, std::string> metadata) {
  metadata[weights_format_key] = weights_format;
  const std::string sum = metadata[weights_sum_key] = weights_checksum(metadata, sorted(tensors));
  models::write_safetensors(path, tensors, metadata);
  return sum;
}

std::string check_weights(const models::SafetensorsFile& file) {
  const std::map<std::string, std::string>& metadata = file.metadata();
  const auto fact = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  const std::string kept = fact(weights_sum_key);
  // A checkpoint has another format, and its own check.
  if (fact(weights_format_key) != weights_format &&
      (kept.empty() || fact(weights_format_key).starts_with("headroom checkpoint")))
    return "";
  SortedTensors tensors;
  for (const std::string& name : file.names()) tensors[name] = file.mapped(name);
  const std::string trial = fact("trial");
  require(weights_checksum(metadata, tensors) == kept, "{}: {}its weights are not what was written (wrong checksum)",
          file.path().string(), trial.empty() ? "" : fmt::format("trial {}: ", trial));
  return kept;
}

}  // namespace headroom::tasks
