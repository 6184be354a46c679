#include <cctype>
#include <utility>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/files/mapped_file.h"
#include "models/tokenizers/loaders.h"

namespace headroom::models {
namespace {

using Json = nlohmann::json;

/// The member, or null where it is absent.
const Json& member(const Json& json, const char* key) {
  static const Json null;
  if (!json.is_object()) return null;
  const auto found = json.find(key);
  return found == json.end() ? null : *found;
}

bool flag(const Json& json, const char* key, bool absent = false) {
  const Json& value = member(json, key);
  require(value.is_null() || value.is_boolean(), "{} is {}, true or false is wanted", key, shown(value));
  return value.is_null() ? absent : value.get<bool>();
}

std::string text_of(const Json& json, const char* key) {
  const Json& value = member(json, key);
  require(value.is_null() || value.is_string(), "{} is {}, a string is wanted", key, shown(value));
  return value.is_null() ? "" : value.get<std::string>();
}

/// A step, or the steps of a "Sequence".
std::vector<Json> steps_of(const Json& json, const char* list) {
  if (json.is_null()) return {};
  if (text_of(json, "type") != "Sequence") return {json};
  const Json& steps = member(json, list);
  require(steps.is_array(), "a Sequence has no list {}", list);
  return steps;
}

void read_normalizer(const Json& json, BpeVocabulary& vocabulary) {
  for (const Json& step : steps_of(json, "normalizers")) {
    const std::string type = text_of(step, "type");
    require(vocabulary.normalization == Normalization::none, "two normalizers are not supported");
    for (const auto form : {Normalization::nfc, Normalization::nfd, Normalization::nfkc, Normalization::nfkd})
      if (type == name_of(form)) vocabulary.normalization = form;
    require(vocabulary.normalization != Normalization::none,
            "normalizer {} is not supported (NFC, NFD, NFKC, NFKD are)", quoted_name(type));
  }
}

/// PCRE2's quoting of a literal pattern.
std::string literal(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && std::isalnum(byte) == 0) out += '\\';
    out += c;
  }
  return out;
}

void read_split(const Json& step, BpeVocabulary& vocabulary) {
  const Json& pattern = member(step, "pattern");
  const std::string regex = text_of(pattern, "Regex"), text = text_of(pattern, "String");
  require(regex.empty() != text.empty(), "a Split has no pattern");
  const std::string behavior = text_of(step, "behavior");
  // Inverted and removed: what is between the matches goes; patterns in use leave nothing there, and we would keep it.
  const bool same = flag(step, "invert") ? behavior == "Removed" : behavior == "Isolated";
  require(same, "Split with behavior {} is not supported (Isolated is)", quoted_name(behavior));
  vocabulary.splitters.emplace_back(regex.empty() ? literal(text) : regex);
}

void read_pre_tokenizer(const Json& json, BpeVocabulary& vocabulary) {
  bool byte_level = false;
  for (const Json& step : steps_of(json, "pretokenizers")) {
    const std::string type = text_of(step, "type");
    require(!byte_level, "pre_tokenizer {} after ByteLevel is not supported", quoted_name(type));
    if (type == "ByteLevel") {
      require(!flag(step, "add_prefix_space"), "add_prefix_space is not supported");
      if (flag(step, "use_regex", true)) vocabulary.splitters.emplace_back(gpt2_pattern);
      byte_level = true;
    } else if (type == "Digits") {
      vocabulary.splitters.emplace_back(flag(step, "individual_digits") ? "\\p{N}" : "\\p{N}+");
    } else if (type == "Split") {
      read_split(step, vocabulary);
    } else {
      fail("pre_tokenizer {} is not supported (ByteLevel, Digits and Split are)", quoted_name(type));
    }
  }
  require(byte_level, "has no pre_tokenizer ByteLevel: only byte-level BPE is supported");
}

std::vector<std::pair<std::string, std::string>> read_merges(const Json& json) {
  require(json.is_array(), "model.merges is {}, a list is wanted", json.type_name());
  std::vector<std::pair<std::string, std::string>> merges;
  for (const Json& merge : json) {
    const bool is_pair = merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
    require(is_pair || merge.is_string(), "merge {} is {}, \"a b\" or [\"a\", \"b\"] is wanted", merges.size() + 1,
            shown(merge));
    if (is_pair) merges.emplace_back(merge[0], merge[1]);
    else merges.push_back(read_merge(merge.get_ref<const std::string&>()));
  }
  return merges;
}

void read_model(const Json& model, BpeVocabulary& vocabulary) {
  const std::string type = text_of(model, "type");
  require(model.is_object() && (type == "BPE" || type.empty()), "model {} is not supported (BPE is)",
          quoted_name(type));
  require(!flag(model, "byte_fallback"), "byte_fallback is not supported: only byte-level BPE is");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    require(text_of(model, key).empty(), "{} is not supported", key);
  const Json& dropout = member(model, "dropout");
  require(dropout.is_null() || dropout == 0, "dropout {} is not supported", shown(dropout));
  vocabulary.ignore_merges = flag(model, "ignore_merges");
  add_tokens_and_merges(vocabulary, read_vocabulary(member(model, "vocab")), read_merges(member(model, "merges")));
}

void read_added_tokens(const Json& json, BpeVocabulary& vocabulary) {
  require(json.is_null() || json.is_array(), "added_tokens is {}, a list is wanted", json.type_name());
  for (const Json& token : json) {
    const std::string text = text_of(token, "content");
    const Json& id = member(token, "id");
    const bool is_id = id.is_number_unsigned() && id.get<uint64_t>() <= static_cast<uint64_t>(max_token_id);
    require(!text.empty() && is_id, "added token {} has id {}", quoted_name(text), shown(id));
    for (const char* key : {"lstrip", "rstrip", "single_word"})
      require(!flag(token, key), "added token {}: {} is not supported", quoted_name(text), key);
    vocabulary.added.push_back({text, id.get<int32_t>(), flag(token, "special")});
  }
}

}  // namespace

BpeVocabulary read_tokenizer_json(const std::filesystem::path& path) {
  BpeVocabulary vocabulary;
  vocabulary.name = folder_name(path);
  vocabulary.files = {path};
  const MappedFile file(path, tokenizer_file);
  try {
    const Json json = parse_json(file.text());
    require(json.is_object() && json.contains("model"), "is not a tokenizer.json: it has no model");
    read_normalizer(member(json, "normalizer"), vocabulary);
    read_model(member(json, "model"), vocabulary);
    read_pre_tokenizer(member(json, "pre_tokenizer"), vocabulary);
    read_added_tokens(member(json, "added_tokens"), vocabulary);
  } catch (const Error& error) {
    fail("{}: {}", path.string(), error.what());
  }
  return vocabulary;
}

}  // namespace headroom::models
