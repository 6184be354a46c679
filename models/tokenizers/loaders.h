#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "models/files/regular_file.h"
#include "models/tokenizers/bpe_tokenizer.h"

namespace headroom::models {

/// A tokenizer's file; those in use are at most 10 MB.
constexpr FileKind tokenizer_file{"tokenizer file", uint64_t{1} << 28};

/// Reads GPT-2's pair of files. A vocabulary entry that is neither a byte nor the result of a merge is a special token.
/// Throws Error naming the file, and the line of a merge.
BpeVocabulary read_gpt2_files(const std::filesystem::path& vocab, const std::filesystem::path& merges);

/// Reads Llama 3's 128000 ranks and adds the 256 special tokens of its code. Throws Error naming the file and line.
BpeVocabulary read_llama3_ranks(const std::filesystem::path& path);

/// Reads a Hugging Face tokenizer.json with a BPE model: byte-level, or over characters, as if made from a
/// SentencePiece model. Throws Error naming the file and whatever is not supported in it.
BpeVocabulary read_tokenizer_json(const std::filesystem::path& path);

/// True if a .model file is SentencePiece's: a protocol buffer whose first field, number 1, is a piece; ranks are text.
bool is_sentencepiece(const std::filesystem::path& path);

/// Shared parts of the above. Errors do not name the file.

/// Token texts by id, from {"text": id}: ids are whole numbers, each used once.
std::map<int32_t, std::string> read_vocabulary(const nlohmann::json& json);
/// Adds tokens in GPT-2's byte alphabet and their merges in order of rank. Returns the ids that are neither bytes nor
/// results of merges. Throws Error naming the number of a merge (from 1) whose parts or result are not tokens.
std::vector<int32_t> add_tokens_and_merges(BpeVocabulary& vocabulary, const std::map<int32_t, std::string>& tokens,
                                           const std::vector<std::pair<std::string, std::string>>& merges);
/// The same for tokens over characters: U+2581 is a space and, with byte fallback, "<0x0A>" a byte. Fills
/// `vocabulary.characters` except its prefix.
void add_character_tokens(BpeVocabulary& vocabulary, const std::map<int32_t, std::string>& tokens,
                          const std::vector<std::pair<std::string, std::string>>& merges, bool byte_fallback);
/// Splits "a b" in two.
std::pair<std::string, std::string> read_merge(std::string_view text);
/// Calls read(line, number) for each line, numbered from 1. Throws its Error naming the line.
void each_line(std::string_view text, const std::function<void(std::string_view line, size_t number)>& read);
/// The tokenizer's name: its folder's name.
std::string folder_name(const std::filesystem::path& file);

}  // namespace headroom::models
