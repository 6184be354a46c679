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

/// What encode() makes of a byte that has no token.
enum class LackingBytes {
  refused,  ///< an Error
  dropped,  ///< nothing, as Hugging Face's tokenizers do without an unknown token
};

/// BPE over characters in place of bytes, as tokenizer.json files have it that were made from SentencePiece models.
/// There U+2581 is a space; here it is one, in texts and in tokens.
struct CharacterRules {
  /// Where a space is put before text: nowhere, before its first stretch where no added token begins it, or before
  /// every stretch between added tokens.
  enum class Prefix { none, first, every };
  Prefix prefix = Prefix::none;
  bool only_missing = false;  ///< not where there is a space (Metaspace); else always (the Prepend normalizer)
  std::unordered_map<std::string, int32_t> ids;  ///< of tokens of one character
  std::array<int32_t, 256> bytes{};              ///< of the tokens of single bytes, which others become; -1: none
  int32_t unknown = -1;                          ///< for a character without either; -1: it is dropped
  bool fuses_unknown = false;                    ///< one for a run of them
  bool strips_space = false;                     ///< decode() drops a space at the start
};

/// All that makes a BPE tokenizer (Sennrich et al., 2016; Radford et al., 2019).
struct BpeVocabulary {
  std::string name;
  std::vector<std::filesystem::path> files;
  std::vector<std::string> tokens;  ///< bytes by id; "" = no such id. Added tokens are written in by the tokenizer
  std::vector<Merge> merges;
  std::vector<AddedToken> added;
  Normalization normalization = Normalization::none;
  std::vector<Splitter> splitters{};  ///< each cuts the pieces of the one before
  std::string splitter{};             ///< their name: one of tokenizer.ggml.pre, or the file that has them
  bool ignore_merges = false;         ///< a piece that is a token is that token, whatever the merges
  LackingBytes lacking = LackingBytes::refused;
  std::optional<CharacterRules> characters{};  ///< nullopt: over bytes
};

/// Largest id that a file may name: so that a wrong file cannot ask for all memory.
inline constexpr int64_t max_token_id = 10'000'000;

/// Added tokens are split off, the rest is normalized and cut into pieces, and the bytes of each piece are merged.
/// encode() throws Error naming the byte and its place where a byte has no token, unless such bytes are dropped.
std::unique_ptr<Tokenizer> make_bpe_tokenizer(BpeVocabulary vocabulary);

/// The merges that ranked tokens imply (tiktoken): two tokens merge where their bytes together are a token, and the
/// token's id is the rank.
std::vector<Merge> merges_of_ranks(const std::vector<std::string>& tokens);

}  // namespace headroom::models
