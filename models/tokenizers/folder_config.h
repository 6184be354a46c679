#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/tokenizers/added_tokens.h"

namespace headroom::models {

/// The class of Llama's SentencePiece models, with its own rules for spaces: it adds one before a text's first stretch,
/// with "legacy" before every stretch between added tokens, and never where there is one already.
inline constexpr const char* llama_tokenizer = "LlamaTokenizer";

/// Tokenizer settings outside the tokenizer's own file: tokenizer_config.json, special_tokens_map.json,
/// added_tokens.json, and the fields of config.json that make transformers choose a class.
struct FolderConfig {
  nlohmann::json tokenizer;          ///< tokenizer_config.json
  std::string kind;                  ///< the class that reads it in transformers 5, without "Fast"; "" = unknown
  std::vector<AddedToken> added;     ///< from added_tokens_decoder, else added_tokens.json
  std::vector<std::string> special;  ///< texts of the named tokens (bos_token, …)

  /// The text of a named token ("bos_token") in the files; nullopt if they name none.
  std::optional<std::string> said(const char* key) const;
  /// The same, or the class's own default if no file has the key.
  std::optional<std::string> named(const char* key) const;
  bool flag(const char* key, bool absent = false) const;
};

/// Reads these files; each may be missing. Throws Error naming the file and its fault.
FolderConfig read_folder_config(const std::filesystem::path& folder);

/// The id that a JSON number stands for; none for what can be no token's.
std::optional<int64_t> token_id(const nlohmann::json& id);

/// Reads an added token of tokenizer.json or added_tokens_decoder. Throws Error, without the file's name, for one
/// without a text, with a wrong id, or with its own rule for surrounding spaces.
AddedToken read_added_token(const nlohmann::json& token, const nlohmann::json& id);

}  // namespace headroom::models
