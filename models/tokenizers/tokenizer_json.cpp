#include <cctype>
#include <utility>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/files/mapped_file.h"
#include "models/files/other_kind.h"
#include "models/tokenizers/character_rules.h"
#include "models/tokenizers/folder_config.h"
#include "models/tokenizers/loaders.h"
#include "models/tokenizers/pre_tokenizers.h"

namespace headroom::models {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& json, const char* key) {
  const Json& value = member(json, key);
  require(value.is_null() || value.is_string(), "{} is {}, expected a string", key, shown(value));
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

/// True if a step replaces one text by another, both literal.
bool replaces(const Json& step, std::string_view from, std::string_view to) {
  return text_of(step, "type") == "Replace" && text_of(member(step, "pattern"), "String") == from &&
         text_of(step, "content") == to;
}

void read_normalizer(const Json& json, BpeVocabulary& vocabulary) {
  for (const Json& step : steps_of(json, "normalizers")) {
    const std::string type = text_of(step, "type");
    if (vocabulary.characters && type == "Prepend") {
      require(text_of(step, "prepend") == space_mark, "normalizer Prepend puts {}, U+2581 is supported",
              shown(member(step, "prepend")));
      vocabulary.characters->prefix = CharacterRules::Prefix::every;
      continue;
    }
    if (vocabulary.characters && replaces(step, " ", space_mark)) continue;
    require(vocabulary.normalization == Normalization::none, "two normalizers are not supported");
    for (const auto form : {Normalization::nfc, Normalization::nfd, Normalization::nfkc, Normalization::nfkd})
      if (type == name_of(form)) vocabulary.normalization = form;
    require(vocabulary.normalization != Normalization::none,
            "normalizer {} is not supported (NFC, NFD, NFKC, NFKD{} are)", quoted_name(type),
            vocabulary.characters ? ", Prepend of U+2581, Replace of a space by it" : "");
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
  const bool same = flag_of(step, "invert") ? behavior == "Removed" : behavior == "Isolated";
  require(same, "Split with behavior {} is not supported (Isolated is)", quoted_name(behavior));
  vocabulary.splitters.emplace_back(regex.empty() ? literal(text) : regex);
}

void read_metaspace(const Json& step, BpeVocabulary& vocabulary) {
  require(text_of(step, "replacement") == space_mark, "Metaspace puts {}, U+2581 is supported",
          shown(member(step, "replacement")));
  CharacterRules& rules = *vocabulary.characters;
  require(rules.prefix == CharacterRules::Prefix::none, "Metaspace after Prepend is not supported");
  // Older files say add_prefix_space.
  std::string scheme = text_of(step, "prepend_scheme");
  if (scheme.empty()) scheme = flag_of(step, "add_prefix_space", true) ? "always" : "never";
  require(scheme == "always" || scheme == "first" || scheme == "never", "prepend_scheme {} is not supported",
          quoted_name(scheme));
  rules.only_missing = true;
  if (scheme != "never")
    rules.prefix = scheme == "first" ? CharacterRules::Prefix::first : CharacterRules::Prefix::every;
  if (flag_of(step, "split", true)) vocabulary.splitters.emplace_back(" [^ ]*");
}

void read_pre_tokenizer(const Json& json, BpeVocabulary& vocabulary) {
  bool is_last = false;
  for (const Json& step : steps_of(json, "pretokenizers")) {
    const std::string type = text_of(step, "type");
    require(!is_last, "pre_tokenizer {} after ByteLevel or Metaspace is not supported", quoted_name(type));
    if (type == "ByteLevel" && !vocabulary.characters) {
      require(!flag_of(step, "add_prefix_space"), "add_prefix_space is not supported");
      if (flag_of(step, "use_regex", true)) vocabulary.splitters.emplace_back(gpt2_pattern);
      is_last = true;
    } else if (type == "Metaspace" && vocabulary.characters) {
      read_metaspace(step, vocabulary);
      is_last = true;
    } else if (type == "Digits" && !vocabulary.characters) {
      vocabulary.splitters.emplace_back(flag_of(step, "individual_digits") ? "\\p{N}" : "\\p{N}+");
    } else if (type == "Split" && !vocabulary.characters) {
      read_split(step, vocabulary);
    } else {
      fail("pre_tokenizer {} is not supported ({})", quoted_name(type),
           vocabulary.characters ? "with byte_fallback, Metaspace is" : "ByteLevel, Digits and Split are");
    }
  }
  require(is_last || vocabulary.characters,
          "has no pre_tokenizer ByteLevel, and no byte_fallback: another kind of BPE is not supported");
}

/// How ids become text where tokens are of characters: only what our decoder does is let pass.
void read_decoder(const Json& json, CharacterRules& rules) {
  for (const Json& step : steps_of(json, "decoders")) {
    const std::string type = text_of(step, "type");
    if (type == "Strip") {
      const bool is_space = text_of(step, "content") == " " && member(step, "start") == 1 && member(step, "stop") == 0;
      require(is_space, "decoder Strip is supported of one space at the start");
      rules.strips_space = true;
    } else if (type == "Metaspace") {
      rules.strips_space = text_of(step, "prepend_scheme") != "never";
    } else {
      require(replaces(step, space_mark, " ") || type == "ByteFallback" || type == "Fuse",
              "decoder {} is not supported (Replace of U+2581 by a space, ByteFallback, Fuse, Strip and Metaspace are)",
              quoted_name(type));
    }
  }
}

/// transformers 5 takes the rules of Llama's class whatever the file says.
void take_llama_rules(const FolderConfig& config, BpeVocabulary& vocabulary) {
  CharacterRules& rules = *vocabulary.characters;
  using Prefix = CharacterRules::Prefix;
  rules.prefix = !config.flag("add_prefix_space", true) ? Prefix::none
                 : config.flag("legacy")                ? Prefix::every
                                                        : Prefix::first;
  rules.only_missing = true;
  vocabulary.splitters.clear();
}

std::vector<std::pair<std::string, std::string>> read_merges(const Json& json) {
  require(json.is_array(), "model.merges is {}, expected a list", json.type_name());
  std::vector<std::pair<std::string, std::string>> merges;
  for (const Json& merge : json) {
    const bool is_pair = merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
    require(is_pair || merge.is_string(), "merge {} is {}, expected \"a b\" or [\"a\", \"b\"]", merges.size() + 1,
            shown(merge));
    if (is_pair) merges.emplace_back(merge[0], merge[1]);
    else merges.push_back(read_merge(merge.get_ref<const std::string&>()));
  }
  return merges;
}

void read_model(const Json& model, bool is_over_characters, BpeVocabulary& vocabulary) {
  const std::string type = text_of(model, "type");
  require(model.is_object() && (type == "BPE" || type.empty()), "model {} is not supported (BPE is)",
          quoted_name(type));
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    require(text_of(model, key).empty(), "{} is not supported", key);
  const Json& dropout = member(model, "dropout");
  require(dropout.is_null() || dropout == 0, "dropout {} is not supported", shown(dropout));
  vocabulary.ignore_merges = flag_of(model, "ignore_merges");
  const auto tokens = read_vocabulary(member(model, "vocab"));
  const auto merges = read_merges(member(model, "merges"));
  if (!is_over_characters) {
    add_tokens_and_merges(vocabulary, tokens, merges);
    return;
  }
  add_character_tokens(vocabulary, tokens, merges, flag_of(model, "byte_fallback"));
  CharacterRules& rules = *vocabulary.characters;
  rules.fuses_unknown = flag_of(model, "fuse_unk");
  const std::string unknown = text_of(model, "unk_token");
  for (const auto& [id, text] : tokens)
    if (!unknown.empty() && text == unknown) rules.unknown = id;
  require(unknown.empty() || rules.unknown >= 0, "unk_token {} is not in the vocabulary", quoted_name(unknown));
}

void read_added_tokens(const Json& json, BpeVocabulary& vocabulary) {
  require(json.is_null() || json.is_array(), "added_tokens is {}, expected a list", json.type_name());
  for (const Json& token : json) vocabulary.added.push_back(read_added_token(token, member(token, "id")));
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
    const Json& model = member(json, "model");
    const bool is_over_characters = flag_of(model, "byte_fallback");
    read_model(model, is_over_characters, vocabulary);
    read_normalizer(member(json, "normalizer"), vocabulary);
    read_pre_tokenizer(member(json, "pre_tokenizer"), vocabulary);
    if (is_over_characters) {
      const FolderConfig config = read_folder_config(path.parent_path());
      if (config.kind == llama_tokenizer) take_llama_rules(config, vocabulary);
      read_decoder(member(json, "decoder"), *vocabulary.characters);
    }
    read_added_tokens(member(json, "added_tokens"), vocabulary);
    const PreTokenizer* known =
        is_over_characters ? nullptr : pre_tokenizer_of(vocabulary.splitters, vocabulary.ignore_merges);
    vocabulary.splitter = is_over_characters ? "SentencePiece BPE" : known ? known->names[0] : "tokenizer.json's own";
  } catch (const Error& error) {
    fail("{}: {}", path.string(), other_than_text_or(file.text(), error.what()));
  }
  return vocabulary;
}

}  // namespace headroom::models
