#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "models/checkpoints/description.h"

namespace headroom::models {

/// Fills in a folder's special tokens and chat template: bos and eos from config.json (given) and
/// generation_config.json, and whether the tokenizer puts bos before a text. Drops ids outside the vocabulary with a
/// warning in the description: transformers writes its default ids whatever the vocabulary. Throws Error naming file
/// and field, also for such a bos if the tokenizer puts it before texts.
void read_folder_specials(const std::filesystem::path& folder, const nlohmann::json& config, ModelDescription& model);

}  // namespace headroom::models
