#pragma once
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "models/checkpoints/model_files.h"

namespace headroom::models {

/// The model_type of a compact folder's config.json.
inline constexpr const char* compact_model_type = "headroom";

/// The config.json of a compact folder: "model_type": "headroom", the family, the whole config, that of the model it
/// was made of (its shapes in files of other software), and the special tokens. Throws Error for a config that no
/// compact folder holds: sinusoidal positions, no vocabulary, not causal.
std::string compact_config_json(const ModelDescription& model, const TransformerConfig& full);

/// What such a config.json says of the model's shape.
struct CompactConfig {
  std::string family;
  TransformerConfig config, full;
};
/// Throws Error naming `source`, which stands for the file, and the field that is missing, wrong or contradicts
/// another.
CompactConfig read_compact_config(const nlohmann::json& json, const std::string& source);

/// Whether the JSON of a config.json is a compact model's.
bool is_compact_config(const nlohmann::json& json);

/// Whether the folder's config.json says that it is a compact model.
bool is_compact_folder(const std::filesystem::path& folder);

/// A folder with config.json (see above), model.safetensors with our Transformer's names and matrices in blocks among
/// them (CompactStore), and the tokenizer's files as Hugging Face has them. Throws as ModelFiles::open().
std::unique_ptr<ModelFiles> open_compact(const std::filesystem::path& folder);

}  // namespace headroom::models
