#include "tasks/training/weights_file.h"

#include "engine/error.h"
#include "tasks/data/sha256.h"

namespace headroom::tasks {
namespace {

// Both are there or none: a file that lost one to a flipped bit is not taken for another program's.
constexpr const char* weights_format = "headroom weights 1";
constexpr const char* weights_format_key = "format";
constexpr const char* weights_sum_key = "sha256";

/// Over metadata and tensors in the order of their names.
std::string weights_checksum(const std::map<std::string, std::string>& metadata,
                             const std::map<std::string, engine::Tensor>& tensors) {
  Sha256 hash;
  for (const auto& [key, value] : metadata)
    if (key != weights_sum_key) hash.add(fmt::format("{}\n{}\n{}\n", key, value.size(), value));
  for (const auto& [name, tensor] : tensors) {
    hash.add(name + "\n" + tensor.str());
    hash.add(tensor.raw(), static_cast<size_t>(tensor.numel() * engine::size_of(tensor.dtype())));
  }
  return hash.hex();
}

}  // namespace

std::string save_weights(const std::filesystem::path& path, const models::NamedTensors& tensors,
                         std::map<std::string, std::string> metadata) {
  metadata[weights_format_key] = weights_format;
  std::map<std::string, engine::Tensor> sorted;
  for (const auto& [name, tensor] : tensors) sorted[name] = tensor.to(engine::cpu).contiguous();
  const std::string sum = metadata[weights_sum_key] = weights_checksum(metadata, sorted);
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
  std::map<std::string, engine::Tensor> sorted;
  for (const std::string& name : file.names()) sorted[name] = file.mapped(name);
  const std::string trial = fact("trial");
  require(weights_checksum(metadata, sorted) == kept, "{}: {}its weights are not what was written (wrong checksum)",
          file.path().string(), trial.empty() ? "" : fmt::format("trial {}: ", trial));
  return kept;
}

}  // namespace headroom::tasks
