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

/// A SentencePiece model, what it is called, and what it was read from.
struct SentencePieceVocabulary {
  SentencePieceModel model;
  std::string name;
  std::filesystem::path file;
  std::vector<AddedToken> added{};  ///< found in a text besides the model's control pieces
  bool spaces_every = true;         ///< add_dummy_prefix holds for stretches after such a token, too
  bool only_missing = false;        ///< it holds where no space is there
};

/// What a tokenizer is made of.
using Vocabulary = std::variant<BpeVocabulary, SentencePieceVocabulary>;

std::unique_ptr<Tokenizer> make_tokenizer(Vocabulary vocabulary);

/// The vocabulary of a file or folder, as load_tokenizer() finds it. Throws Error as that does.
Vocabulary load_vocabulary(const std::filesystem::path& path);

/// Whether load_vocabulary() finds a file of a tokenizer in the folder.
bool folder_has_tokenizer(const std::filesystem::path& folder);

/// tokenizer.ggml.model, the kind of a GGUF file's tokenizer: byte-level BPE, and SentencePiece.
inline constexpr const char *gguf_byte_level = "gpt2", *gguf_sentencepiece = "llama";

/// The vocabulary that a GGUF file carries (tokenizer.ggml.*): byte-level BPE cut by the patterns that
/// tokenizer.ggml.pre names, or SentencePiece. `name` is what it is called, `file` what holds it. Throws
/// Error naming the key that is missing or wrong, and a kind or pattern that we lack.
Vocabulary gguf_vocabulary(const GgufMetadata& metadata, const std::string& name, const std::filesystem::path& file);

/// The row that tokenizer.ggml.pre names; llama.cpp's default without it. Throws Error for a name that we lack.
const PreTokenizer& gguf_pre_tokenizer(const GgufMetadata& metadata);

}  // namespace headroom::models
