#pragma once
#include <filesystem>
#include <string>

#include "models/write/tensors.h"

namespace headroom::models {

/// The file name of a folder's model card.
inline constexpr const char* model_card_name = "README.md";

/// The files of an adapter's folder, as PEFT names them.
inline constexpr const char *adapter_config_name = "adapter_config.json",
                            *adapter_weights_name = "adapter_model.safetensors";

/// True if a model's or an adapter's folder may contain a file of that name, so that a new folder may replace it.
bool is_model_file(const std::string& name);

/// The config.json of a model with matrices in that form. Throws Error naming anything it cannot express.
std::string config_json(const ModelDescription& model, GgufForm form);

/// Writes the tokenizer's files and generation_config.json; copies a folder's own. Adds omissions to `notes`.
void write_tokenizer_and_generation(const std::filesystem::path& folder, const ModelFiles& source,
                                    std::vector<std::string>& notes);

/// The same plus config.json: a Hugging Face folder's, with its new dtype and the description's heads.
void write_folder_files(const std::filesystem::path& folder, const ModelFiles& source, GgufForm form,
                        std::vector<std::string>& notes);

/// Writes a GGUF file's tokenizer for Hugging Face's software: tokenizer.json for byte-level BPE, tokenizer.model for
/// SentencePiece, and tokenizer_config.json.
void write_tokenizer_files(const std::filesystem::path& folder, const ModelFiles& source);

}  // namespace headroom::models
