#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/gguf/metadata.h"
#include "models/tokenizers/folder_config.h"

namespace headroom::models {

/// The tokens around a whole text. Only this code decides how a model's text begins.
struct TextStart {
  std::optional<int64_t> begin, end;  ///< the tokens put before and after every text
  std::optional<int64_t> bos;         ///< the token named bos: `begin`, if there is one
  std::vector<std::string> notes;     ///< gaps and contradictions in the files, and what is done about them
};

/// Reads a folder and its `config` as transformers 5 does. If there is a tokenizer.json, its template alone decides;
/// otherwise add_bos_token and add_eos_token in tokenizer_config.json say if, and the tokenizer's class says which.
/// `config_bos`, config.json's bos_token_id, counts only if the tokenizer's files name none. Throws Error naming the
/// file for a template with several tokens on one side of a text, or a token without an id.
TextStart text_start_of_folder(const std::filesystem::path& folder, const FolderConfig& config,
                               std::optional<int64_t> config_bos);

/// Reads a GGUF file as llama.cpp does. Without the keys, SentencePiece models begin with bos, and so do byte-level
/// ones whose tokenizer.ggml.pre is of Llama 3's kind; an id outside the vocabulary is replaced by the kind's usual
/// one. Throws Error naming the key if a token to put has no id.
TextStart text_start_of_gguf(const GgufMetadata& metadata, int64_t vocab);

/// A special token's id (tokenizer.ggml.KEY_token_id), if the file names one; an id outside the vocabulary becomes
/// `usual`, with a note.
std::optional<int64_t> gguf_special(const GgufMetadata& metadata, const char* key, int64_t vocab,
                                    std::optional<int64_t> usual, std::vector<std::string>& notes);

/// llama.cpp's default bos or eos for a kind of tokenizer, if the file's is missing or outside the vocabulary.
std::optional<int64_t> gguf_usual_id(const GgufMetadata& metadata, bool is_bos);

}  // namespace headroom::models
