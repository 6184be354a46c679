#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "models/checkpoints/model_files.h"

namespace headroom::models {

/// Writes a GGUF file's tokenizer for Hugging Face's software: tokenizer.json for byte-level BPE, tokenizer.model for
/// SentencePiece, and tokenizer_config.json.
void write_tokenizer_files(const std::filesystem::path& folder, const ModelFiles& source);

}  // namespace headroom::models
