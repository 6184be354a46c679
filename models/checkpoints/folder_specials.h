#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "models/checkpoints/description.h"

namespace headroom::models {

/// Fills in what the files of a folder say of special tokens and chats: bos and eos of config.json (given) and
/// generation_config.json, whether the tokenizer puts bos before a text, the chat template. Throws Error naming file
/// and field.
void read_folder_specials(const std::filesystem::path& folder, const nlohmann::json& config, ModelDescription& model);

}  // namespace headroom::models
