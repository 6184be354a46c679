#include "experiments/run/train/checkpoint.h"

#include <bit>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "tasks/data/sha256.h"

namespace headroom::experiments {
namespace {

using nlohmann::json;

constexpr const char* format = "headroom checkpoint 1";

/// JSON knows no infinity and no NaN: doubles stand as the integers of their bits.
uint64_t bits(double x) { return std::bit_cast<uint64_t>(x); }
double real(const json& value) { return std::bit_cast<double>(value.get<uint64_t>()); }

json bits_of(const std::map<std::string, double>& values) {
  json out = json::object();
  for (const auto& [name, value] : values) out[name] = bits(value);
  return out;
}

std::map<std::string, double> reals(const json& values) {
  std::map<std::string, double> out;
  for (const auto& [name, value] : values.items()) out[name] = real(value);
  return out;
}

json to_json(const Checkpoint& checkpoint) {
  const Standing& at = checkpoint.standing;
  json history = json::array(), predictions = json::array(), schedule = json::array();
  for (const HistoryPoint& p : at.history) history.push_back({p.step, p.split, p.metric, bits(p.value)});
  for (const auto& [target, output] : at.predictions) predictions.push_back({bits(target), bits(output)});
  for (const double x : checkpoint.schedule) schedule.push_back(bits(x));
  return {{"step", at.step},
          {"seconds", bits(at.seconds)},
          {"best", bits(at.best)},
          {"stale", at.stale},
          {"last_loss", bits(at.last_loss)},
          {"gradient_norm", bits(at.gradient_norm)},
          {"validation", bits_of(at.validation)},
          {"test", bits_of(at.test)},
          {"predictions", predictions},
          {"history", history},
          {"streams", checkpoint.streams},
          {"schedule", schedule}};
}

void from_json(const json& state, Checkpoint& checkpoint) {
  Standing& at = checkpoint.standing;
  at.step = state.at("step").get<int64_t>();
  at.seconds = real(state.at("seconds"));
  at.best = real(state.at("best"));
  at.stale = state.at("stale").get<int64_t>();
  at.last_loss = real(state.at("last_loss"));
  at.gradient_norm = real(state.at("gradient_norm"));
  at.validation = reals(state.at("validation"));
  at.test = reals(state.at("test"));
  for (const json& pair : state.at("predictions")) at.predictions.emplace_back(real(pair.at(0)), real(pair.at(1)));
  for (const json& p : state.at("history"))
    at.history.push_back(
        {p.at(0).get<int64_t>(), p.at(1).get<std::string>(), p.at(2).get<std::string>(), real(p.at(3))});
  checkpoint.streams = state.at("streams").get<std::map<std::string, uint64_t>>();
  for (const json& x : state.at("schedule")) checkpoint.schedule.push_back(real(x));
}

/// Over everything that a resumed training reads; tensors in the order of their names, which no writer can change.
std::string checksum(const std::string& trial, const std::string& state, const models::NamedTensors& tensors) {
  std::map<std::string, engine::Tensor> sorted;
  for (const auto& [name, tensor] : tensors) sorted[name] = tensor.contiguous();
  tasks::Sha256 hash;
  hash.add(trial + "\n" + state);
  for (const auto& [name, tensor] : sorted) {
    hash.add(name + "\n" + tensor.str());
    hash.add(tensor.raw(), static_cast<size_t>(tensor.numel() * engine::size_of(tensor.dtype())));
  }
  return hash.hex();
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const std::string& trial, const Checkpoint& checkpoint) {
  const std::string state = to_json(checkpoint).dump();
  models::write_safetensors(
      path, checkpoint.tensors,
      {{"format", format}, {"trial", trial}, {"state", state}, {"sha256", checksum(trial, state, checkpoint.tensors)}});
}

Checkpoint load_checkpoint(const std::filesystem::path& path, const std::string& trial) {
  const models::SafetensorsFile file(path);
  const auto fact = [&](const char* key) {
    const auto found = file.metadata().find(key);
    require(found != file.metadata().end(), "{}: not a checkpoint: no '{}' in its metadata", path.string(), key);
    return found->second;
  };
  require(fact("format") == format, "{}: is '{}', this program reads '{}'", path.string(), fact("format"), format);
  require(fact("trial") == trial, "{}: is of trial {}, not of {}", path.string(), fact("trial"), trial);
  Checkpoint checkpoint;
  for (const std::string& name : file.names()) checkpoint.tensors.emplace_back(name, file.tensor(name));
  const std::string state = fact("state");
  require(checksum(trial, state, checkpoint.tensors) == fact("sha256"), "{}: its bytes do not have its checksum",
          path.string());
  try {
    from_json(json::parse(state), checkpoint);
  } catch (const json::exception& error) {
    fail("{}: not a checkpoint: {}", path.string(), error.what());
  }
  return checkpoint;
}

}  // namespace headroom::experiments
