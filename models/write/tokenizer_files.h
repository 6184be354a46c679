#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "models/checkpoints/model_files.h"

namespace headroom::models {

/// Writes the tokenizer of a GGUF file as Hugging Face's software reads it: tokenizer.json for byte-level BPE,
/// tokenizer.model for SentencePiece, and tokenizer_config.json.
void write_tokenizer_files(const std::filesystem::path& folder, const ModelFiles& source);

}  // namespace headroom::models
