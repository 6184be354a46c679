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

/// Over everything that a resumed training reads; tensors in the order of their names, which no writer can change.
std::string checksum(const std::string& owner, const std::string& state, const models::NamedTensors& tensors) {
  std::map<std::string, engine::Tensor> sorted;
  for (const auto& [name, tensor] : tensors) sorted[name] = tensor.to(engine::cpu).contiguous();
  Sha256 hash;
  hash.add(owner + "\n" + state);
  for (const auto& [name, tensor] : sorted) {
    hash.add(name + "\n" + tensor.str());
    hash.add(tensor.raw(), static_cast<size_t>(tensor.numel() * engine::size_of(tensor.dtype())));
  }
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

}  // namespace headroom::tasks
