#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <variant>

#include "models/gguf/metadata.h"
#include "models/tokenizers/bpe_tokenizer.h"
#include "models/tokenizers/pre_tokenizers.h"
#include "models/tokenizers/sentencepiece_model.h"

namespace headroom::models {

/// A SentencePiece model, its name and its source.
struct SentencePieceVocabulary {
  SentencePieceModel model;
  std::string name;
  std::filesystem::path file;
  std::vector<AddedToken> added{};  ///< matched in text besides the model's control pieces
  bool spaces_every = true;         ///< add_dummy_prefix applies after such a token too
  bool only_missing = false;        ///< it applies only if there is no space yet
};

/// The data a tokenizer is made from.
using Vocabulary = std::variant<BpeVocabulary, SentencePieceVocabulary>;

std::unique_ptr<Tokenizer> make_tokenizer(Vocabulary vocabulary);

/// Makes a tokenizer that runs a SentencePiece model with libsentencepiece; it matches control pieces ("<s>") and added
/// tokens first. decode() drops the space that add_dummy_prefix put before the text. Throws Error naming the file if
/// the library refuses the model, and for an added token beyond max_token_id.
std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const SentencePieceVocabulary& vocabulary);

/// Loads the vocabulary of a file or folder, found as by load_tokenizer(), and throws Error as that does.
Vocabulary load_vocabulary(const std::filesystem::path& path);

/// True if load_vocabulary() finds a tokenizer's file in the folder.
bool folder_has_tokenizer(const std::filesystem::path& folder);

/// The kinds of tokenizer in GGUF files (tokenizer.ggml.model): byte-level BPE and SentencePiece.
inline constexpr const char *gguf_byte_level = "gpt2", *gguf_sentencepiece = "llama";

/// The vocabulary in a GGUF file (tokenizer.ggml.*): byte-level BPE with the patterns of tokenizer.ggml.pre, or
/// SentencePiece. `name` is its name, `file` holds it. Throws Error naming a key that is missing or wrong, and an
/// unsupported kind or pattern.
Vocabulary gguf_vocabulary(const GgufMetadata& metadata, const std::string& name, const std::filesystem::path& file);

/// The row named by tokenizer.ggml.pre; llama.cpp's default without it. Throws Error for an unknown name.
const PreTokenizer& gguf_pre_tokenizer(const GgufMetadata& metadata);

}  // namespace headroom::models
