#pragma once
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/tokenizers/added_tokens.h"
#include "models/tokenizers/normalize.h"
#include "models/tokenizers/pair_table.h"
#include "models/tokenizers/splitter.h"
#include "models/tokenizers/tokenizer.h"

namespace headroom::models {

/// How encode() treats a byte without a token.
enum class LackingBytes {
  refused,  ///< throws Error
  dropped,  ///< drops it, as Hugging Face's tokenizers do without an unknown token
};

/// BPE over characters instead of bytes, as in tokenizer.json files made from SentencePiece models. They write U+2581
/// for a space; here texts and tokens have plain spaces.
struct CharacterRules {
  /// Where to put a space before text: nowhere, before the first stretch unless an added token begins the text, or
  /// before every stretch between added tokens.
  enum class Prefix { none, first, every };
  Prefix prefix = Prefix::none;
  bool only_missing = false;  ///< only if there is no space yet (Metaspace); else always (the Prepend normalizer)
  std::unordered_map<std::string, int32_t> ids;  ///< of one-character tokens
  std::array<int32_t, 256> bytes{};              ///< of single-byte tokens, for other characters; -1: none
  int32_t unknown = -1;                          ///< for a character with neither; -1: drop it
  bool fuses_unknown = false;                    ///< one token for a run of unknown characters
  bool strips_space = false;                     ///< decode() drops a space at the start
};

/// The data of a BPE tokenizer (Sennrich et al., 2016; Radford et al., 2019).
struct BpeVocabulary {
  std::string name;
  std::vector<std::filesystem::path> files;
  std::vector<std::string> tokens;  ///< bytes by id; "" = no such id. The tokenizer fills in added tokens
  std::vector<Merge> merges;
  std::vector<AddedToken> added;
  Normalization normalization = Normalization::none;
  std::vector<Splitter> splitters{};  ///< each cuts the previous one's pieces
  std::string splitter{};             ///< their name in tokenizer.ggml.pre, or the file they come from
  bool ignore_merges = false;         ///< a piece that is a token stays whole, whatever the merges
  LackingBytes lacking = LackingBytes::refused;
  std::optional<CharacterRules> characters{};  ///< nullopt: over bytes
};

/// The largest id a file may name: keeps a wrong file from using up all memory.
inline constexpr int64_t max_token_id = 10'000'000;

/// Makes a BPE tokenizer: splits off added tokens, normalizes the rest, cuts it into pieces and merges each piece's
/// bytes. encode() throws Error naming a byte without a token and its place, unless such bytes are dropped.
std::unique_ptr<Tokenizer> make_bpe_tokenizer(BpeVocabulary vocabulary);

}  // namespace headroom::models
