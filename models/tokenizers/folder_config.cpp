#include "models/tokenizers/folder_config.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/read_number.h"
#include "models/families/family.h"
#include "models/files/json.h"
#include "models/tokenizers/bpe_tokenizer.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// A text, or an object that holds it.
std::optional<std::string> text_in(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("content")) return text_in(value["content"]);
  return std::nullopt;
}

/// The class that transformers 5 takes: what the tokenizer's file names, else config.json, but for families that own
/// theirs; without a name the family's.
std::string class_of(const Json& tokenizer, const Json& config) {
  const auto text = [](const Json& json, const char* key) { return text_in(member(json, key)).value_or(""); };
  // Our own compact folders say the family.
  const Family* family = find_family(text(config, config.contains("family") ? "family" : "model_type"));
  std::string name = text(tokenizer, "tokenizer_class");
  if (name.empty()) name = text(config, "tokenizer_class");
  if (family && (name.empty() || family->owns_tokenizer)) name = family->tokenizer;
  return name.ends_with("Fast") ? name.substr(0, name.size() - 4) : name;
}

void add_named(const Json& json, std::vector<std::string>& special) {
  for (const auto& [key, value] : json.items()) {
    const bool is_list = value.is_array() && (key == "additional_special_tokens" || key == "extra_special_tokens");
    if (!is_list && !key.ends_with("_token")) continue;
    for (const Json& item : is_list ? value : Json::array({value}))
      if (const auto text = text_in(item); text && !text->empty()) special.push_back(*text);
  }
}

/// The keys of added_tokens_decoder are ids as texts.
Json id_of_key(const std::string& key) {
  const auto id = read_number<int64_t>(key);
  return id ? Json(*id) : Json(key);
}

void read_added(const fs::path& folder, FolderConfig& config) {
  const auto is_special = [&](const std::string& text) {
    return std::find(config.special.begin(), config.special.end(), text) != config.special.end();
  };
  const auto decoder = config.tokenizer.find("added_tokens_decoder");
  const bool has_decoder = decoder != config.tokenizer.end() && decoder->is_object();
  const fs::path path = folder / (has_decoder ? "tokenizer_config.json" : "added_tokens.json");
  const Json tokens = has_decoder ? *decoder : read_optional_object(path);
  naming(path.string(), [&] {
    for (const auto& [key, value] : tokens.items())
      config.added.push_back(has_decoder ? read_added_token(value, id_of_key(key))
                                         : read_added_token({{"content", key}, {"special", is_special(key)}}, value));
  });
}

}  // namespace

std::optional<std::string> FolderConfig::said(const char* key) const { return text_in(member(tokenizer, key)); }

std::optional<std::string> FolderConfig::named(const char* key) const {
  if (tokenizer.contains(key)) return said(key);
  const TokenizerClass& known = tokenizer_class(kind);
  const std::string_view text = std::string_view(key) == "bos_token" ? known.bos : known.eos;
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

bool FolderConfig::flag(const char* key, bool absent) const {
  const Json& value = member(tokenizer, key);
  return value.is_boolean() ? value.get<bool>() : absent;
}

FolderConfig read_folder_config(const fs::path& folder) {
  FolderConfig config;
  config.tokenizer = read_optional_object(folder / "tokenizer_config.json");
  config.kind = class_of(config.tokenizer, read_optional_object(folder / "config.json"));
  if (!config.tokenizer.contains("added_tokens_decoder"))
    config.tokenizer.update(read_optional_object(folder / "special_tokens_map.json"));
  add_named(config.tokenizer, config.special);
  read_added(folder, config);
  return config;
}

std::optional<int64_t> token_id(const Json& id) {
  const bool is_id = id.is_number_integer() && id >= 0 && id <= max_token_id;
  return is_id ? std::optional(id.get<int64_t>()) : std::nullopt;
}

AddedToken read_added_token(const Json& token, const Json& id) {
  const Json& content = member(token, "content");
  require(content.is_null() || content.is_string(), "content is {}, expected a string", shown(content));
  const std::string text = text_in(content).value_or("");
  const auto number = token_id(id);
  require(!text.empty() && number, "added token {} has id {}", quoted_name(text), shown(id));
  for (const char* key : {"lstrip", "rstrip", "single_word"})
    require(!flag_of(token, key), "added token {}: {} is not supported", quoted_name(text), key);
  const bool special = flag_of(token, "special");
  return {text, static_cast<int32_t>(*number), special, flag_of(token, "normalized", !special)};
}

}  // namespace headroom::models
