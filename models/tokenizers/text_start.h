#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/gguf/metadata.h"
#include "models/tokenizers/folder_config.h"

namespace headroom::models {

/// The tokens around a whole text: where a text begins for a model is decided here alone.
struct TextStart {
  std::optional<int64_t> begin, end;  ///< what the tokenizer puts before and after every text
  std::optional<int64_t> bos;         ///< the token that is called so: `begin`, if there is one
  std::vector<std::string> notes;     ///< what the files leave open or cannot mean, and what is done instead
};

/// Of a folder and its `config`, as transformers 5 reads it. With tokenizer.json its template decides alone; without
/// one, add_bos_token and add_eos_token of tokenizer_config.json say whether, and the tokenizer's class which.
/// `config_bos` is config.json's bos_token_id, which counts only where the tokenizer's files name none. Throws Error
/// naming the file for a template with several tokens before or after a text, and where a token that it puts has no id.
TextStart text_start_of_folder(const std::filesystem::path& folder, const FolderConfig& config,
                               std::optional<int64_t> config_bos);

/// Of a GGUF file, as llama.cpp reads it: where the keys are missing, SentencePiece's models begin with bos and so do
/// byte-level ones whose tokenizer.ggml.pre is of Llama 3's kind; an id that is no token is the kind's usual one.
/// Throws Error naming the key where a token that is put has no id.
TextStart text_start_of_gguf(const GgufMetadata& metadata, int64_t vocab);

/// A special token's id (tokenizer.ggml.KEY_token_id), if the file names one; an id that is no token is `usual`, with a
/// note.
std::optional<int64_t> gguf_special(const GgufMetadata& metadata, const char* key, int64_t vocab,
                                    std::optional<int64_t> usual, std::vector<std::string>& notes);

/// The id that llama.cpp takes for bos or eos of a kind of tokenizer where the file's is missing or no token.
std::optional<int64_t> gguf_usual_id(const GgufMetadata& metadata, bool is_bos);

}  // namespace headroom::models
