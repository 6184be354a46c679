#pragma once
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "models/files/regular_file.h"
#include "models/tokenizers/bpe_tokenizer.h"

namespace headroom::models {

/// A file of a tokenizer: those in use have 10 MB or less.
constexpr FileKind tokenizer_file{"tokenizer file", uint64_t{1} << 28};

/// GPT-2's pair of files. An entry of the vocabulary that is neither a byte nor made by a merge is a special token.
/// Throws Error naming the file, and the line of a merge.
BpeVocabulary read_gpt2_files(const std::filesystem::path& vocab, const std::filesystem::path& merges);

/// Llama 3's 128000 ranks, and the 256 special tokens that its code adds. Throws Error naming the file and line.
BpeVocabulary read_llama3_ranks(const std::filesystem::path& path);

/// A tokenizer.json of Hugging Face whose model is BPE: byte-level, or over characters as one that was made from a
/// SentencePiece model is. Throws Error naming the file and what in it is not
/// supported.
BpeVocabulary read_tokenizer_json(const std::filesystem::path& path);

/// Whether a .model file is SentencePiece's: a protocol buffer whose first field, number 1, is a piece; ranks are text.
bool is_sentencepiece(const std::filesystem::path& path);

/// Parts of the above, shared. Errors do not name the file.

/// Token texts by id, from {"text": id}: ids are whole numbers, each once.
std::map<int32_t, std::string> read_vocabulary(const nlohmann::json& json);
/// Adds tokens in GPT-2's byte alphabet, and their merges in the order of their ranks. Returns the ids that no merge
/// makes and that are no byte. Throws Error naming the number of a merge (from 1) whose parts or result are no tokens.
std::vector<int32_t> add_tokens_and_merges(BpeVocabulary& vocabulary, const std::map<int32_t, std::string>& tokens,
                                           const std::vector<std::pair<std::string, std::string>>& merges);
/// The same for tokens over characters: U+2581 is a space and, with byte fallback, "<0x0A>" a byte. Fills
/// `vocabulary.characters` except its prefix.
void add_character_tokens(BpeVocabulary& vocabulary, const std::map<int32_t, std::string>& tokens,
                          const std::vector<std::pair<std::string, std::string>>& merges, bool byte_fallback);
/// "a b" in two.
std::pair<std::string, std::string> read_merge(std::string_view text);
/// What a tokenizer is called: the name of the folder that its file is in.
std::string folder_name(const std::filesystem::path& file);

}  // namespace headroom::models
