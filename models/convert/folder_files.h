#pragma once
#include <filesystem>
#include <string>

#include "models/convert/tensors.h"

namespace headroom::models {

/// Whether a file of that name is one that a model's folder holds, so that a new folder may take its place.
bool is_model_file(const std::string& name);

/// The config.json of a model whose matrices are of that form. Throws Error naming what of the model it cannot say.
std::string config_json(const ModelDescription& model, GgufForm form);

/// Writes all files of a folder but the weights: config.json, generation_config.json and the tokenizer's. A folder's
/// own are copied, config.json with its new dtype. `notes` gets what is left out.
void write_folder_files(const std::filesystem::path& folder, const ModelFiles& source, GgufForm form,
                        std::vector<std::string>& notes);

}  // namespace headroom::models
