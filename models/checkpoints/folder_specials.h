#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "models/checkpoints/description.h"

namespace headroom::models {

/// Fills in what the files of a folder say of special tokens and chats: bos and eos of config.json (given) and
/// generation_config.json, whether the tokenizer puts bos before a text, the chat template. An id that is no token of
/// the vocabulary is left out, with a warning in the description: transformers writes those of its defaults, whatever
/// the vocabulary. Throws Error naming file and field, for such a bos too where the tokenizer puts it before texts.
void read_folder_specials(const std::filesystem::path& folder, const nlohmann::json& config, ModelDescription& model);

}  // namespace headroom::models
