#pragma once
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "models/checkpoints/model_files.h"

namespace headroom::models {

/// Makes a compact folder's config.json: "model_type": "headroom", the family, the whole config, the original model's
/// config (the shapes other software expects), and the special tokens. Throws Error for a config that compact folders
/// cannot hold: sinusoidal positions, no vocabulary, not causal.
std::string compact_config_json(const ModelDescription& model, const TransformerConfig& full);

/// The model's shape according to such a config.json.
struct CompactConfig {
  std::string family;
  TransformerConfig config, full;
};
/// Throws Error naming `source`, which stands for the file, and the field that is missing, wrong or contradicts
/// another.
CompactConfig read_compact_config(const nlohmann::json& json, const std::string& source);

/// True if this config.json is a compact model's.
bool is_compact_config(const nlohmann::json& json);

/// True if the folder's config.json says it is a compact model.
bool is_compact_folder(const std::filesystem::path& folder);

/// Opens a folder with config.json (see above), model.safetensors with our Transformer's names and possibly matrices in
/// blocks (CompactStore), and the tokenizer's files in Hugging Face form. Throws as ModelFiles::open().
std::unique_ptr<ModelFiles> open_compact(const std::filesystem::path& folder);

}  // namespace headroom::models
