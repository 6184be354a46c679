#pragma once
#include <filesystem>
#include <string>

#include "models/write/tensors.h"

namespace headroom::models {

/// What a folder calls the description of its model for people.
inline constexpr const char* model_card_name = "README.md";

/// Whether a file of that name is one that a model's folder holds, so that a new folder may take its place.
bool is_model_file(const std::string& name);

/// The config.json of a model whose matrices are of that form. Throws Error naming what of the model it cannot say.
std::string config_json(const ModelDescription& model, GgufForm form);

/// Writes the tokenizer's files and generation_config.json: a folder's own are copied. `notes` gets what is left out.
void write_tokenizer_and_generation(const std::filesystem::path& folder, const ModelFiles& source,
                                    std::vector<std::string>& notes);

/// The same and config.json: that of a Hugging Face folder with its new dtype, and with the heads of the description.
void write_folder_files(const std::filesystem::path& folder, const ModelFiles& source, GgufForm form,
                        std::vector<std::string>& notes);

}  // namespace headroom::models
