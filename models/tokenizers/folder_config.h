#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/tokenizers/added_tokens.h"

namespace headroom::models {

/// The class of Llama's SentencePiece models, which puts spaces by rules of its own: before a text's first stretch,
/// with "legacy" before each between added tokens, and never where there is one.
inline constexpr const char* llama_tokenizer = "LlamaTokenizer";

/// What the files beside a tokenizer's own say of it: tokenizer_config.json, special_tokens_map.json,
/// added_tokens.json, and of config.json what transformers chooses a class by.
struct FolderConfig {
  nlohmann::json tokenizer;          ///< tokenizer_config.json
  std::string kind;                  ///< the class that reads it in transformers 5, without "Fast"; "" = not said
  std::vector<AddedToken> added;     ///< by added_tokens_decoder, else added_tokens.json
  std::vector<std::string> special;  ///< texts of the tokens that have a name (bos_token, …)

  /// The text of a named token ("bos_token") as the files have it; nullopt where they name none.
  std::optional<std::string> said(const char* key) const;
  /// The same; where no file has the key, the class's own.
  std::optional<std::string> named(const char* key) const;
  bool flag(const char* key, bool absent = false) const;
};

/// Reads them; each may be missing. Throws Error naming the file and what in it is wrong.
FolderConfig read_folder_config(const std::filesystem::path& folder);

/// An added token as tokenizer.json and added_tokens_decoder have it. Throws Error, without the file's name, for one
/// without a text or with a wrong id, and for a rule of its own on the spaces around it.
AddedToken read_added_token(const nlohmann::json& token, const nlohmann::json& id);

}  // namespace headroom::models
