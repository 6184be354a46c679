#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <variant>

#include "models/gguf/metadata.h"
#include "models/tokenizers/bpe_tokenizer.h"
#include "models/tokenizers/sentencepiece_model.h"

namespace headroom::models {

/// A SentencePiece model, what it is called, and what it was read from.
struct SentencePieceVocabulary {
  SentencePieceModel model;
  std::string name;
  std::filesystem::path file;
};

/// What a tokenizer is made of.
using Vocabulary = std::variant<BpeVocabulary, SentencePieceVocabulary>;

std::unique_ptr<Tokenizer> make_tokenizer(Vocabulary vocabulary);

/// The vocabulary of a file or folder, as load_tokenizer() finds it. Throws Error as that does.
Vocabulary load_vocabulary(const std::filesystem::path& path);

/// Whether load_vocabulary() finds a file of a tokenizer in the folder.
bool folder_has_tokenizer(const std::filesystem::path& folder);

/// The vocabulary that a GGUF file carries (tokenizer.ggml.*): byte-level BPE ("gpt2") cut by the pattern that
/// tokenizer.ggml.pre names, or SentencePiece ("llama"). `name` is what it is called, `file` what holds it. Throws
/// Error naming the key that is missing or wrong, and a kind or pattern that we lack.
Vocabulary gguf_vocabulary(const GgufMetadata& metadata, const std::string& name, const std::filesystem::path& file);

/// What tokenizer.ggml.pre calls the patterns that cut a text: "gpt-2", "smollm", "llama-bpe", "qwen2"; "" for others.
std::string gguf_pre_tokenizer(const std::vector<Splitter>& splitters);

}  // namespace headroom::models
