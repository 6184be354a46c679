#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "models/checkpoints/description.h"
#include "models/checkpoints/safetensors_folder.h"

namespace headroom::models {

/// Fills in a folder's special tokens and chat template: bos and eos from config.json (given) and
/// generation_config.json, and whether the tokenizer puts bos before a text. Drops ids outside the vocabulary with a
/// warning in the description: transformers writes its default ids whatever the vocabulary. Throws Error naming file
/// and field, also for such a bos if the tokenizer puts it before texts.
void read_folder_specials(const std::filesystem::path& folder, const nlohmann::json& config, ModelDescription& model);

/// Opens a folder's tensors under the names of its family's class in transformers. Removes wrappers (torch.compile's
/// "_orig_mod.", "module.", any other common prefix) and adds "model." to a base model's names. Drops a head equal to
/// an embedding that config.json calls tied; if they differ, the head counts and `model` becomes untied, as in
/// transformers 5. Adds warnings to `model` about names removed and tensors not read, and not_run if an untied model
/// has no head.
std::shared_ptr<const SafetensorsFolder> folder_tensors(const std::filesystem::path& folder, ModelDescription& model);

}  // namespace headroom::models
