#include <algorithm>

#include "engine/error.h"
#include "models/families/family.h"
#include "models/files/atomic_file.h"
#include "models/files/json.h"
#include "models/gguf/gguf.h"
#include "models/tokenizers/byte_alphabet.h"
#include "models/tokenizers/folder_config.h"
#include "models/write/folder_files.h"

namespace headroom::models {
namespace {

using Ordered = nlohmann::ordered_json;

Ordered added_token(const std::string& text, bool special) {
  return {{"content", text}, {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false},  {"special", special}};
}

Ordered pre_tokenizer_of(const std::vector<Splitter>& splitters) {
  Ordered steps = Ordered::array();
  for (const Splitter& splitter : splitters)
    steps.push_back(
        {{"type", "Split"}, {"pattern", {{"Regex", splitter.pattern()}}}, {"behavior", "Isolated"}, {"invert", false}});
  steps.push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}});
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

/// Puts `bos` before every text.
Ordered template_of(const std::string& bos, int64_t id) {
  const Ordered special = {{"SpecialToken", {{"id", bos}, {"type_id", 0}}}};
  const auto text = [](const char* name, int type) { return Ordered{{"Sequence", {{"id", name}, {"type_id", type}}}}; };
  return {{"type", "TemplateProcessing"},
          {"single", {special, text("A", 0)}},
          {"pair", {special, text("A", 0), text("B", 1)}},
          {"special_tokens", {{bos, {{"id", bos}, {"ids", {id}}, {"tokens", {bos}}}}}}};
}

/// True for tokens that only pad a vocabulary to the embedding's rows: none of the tokenizer's own.
bool is_padding(const std::string& text, size_t id) { return text == fmt::format("[PAD{}]", id); }

std::string tokenizer_json(const BpeVocabulary& vocabulary, const ModelDescription& model) {
  Ordered added = Ordered::array(), tokens = Ordered::object(), merges = Ordered::array();
  std::vector<bool> is_added(vocabulary.tokens.size());
  std::vector<AddedToken> in_order = vocabulary.added;
  std::sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  for (const AddedToken& token : in_order) {
    if (is_padding(token.text, static_cast<size_t>(token.id))) continue;
    Ordered entry{{"id", token.id}};
    entry.update(added_token(token.text, token.special));
    added.push_back(entry);
    is_added[static_cast<size_t>(token.id)] = true;
  }
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string& bytes = vocabulary.tokens[id];
    if (!bytes.empty() && !is_padding(bytes, id)) tokens[is_added[id] ? bytes : to_byte_alphabet(bytes)] = id;
  }
  for (const Merge& merge : vocabulary.merges)
    merges.push_back({to_byte_alphabet(vocabulary.tokens[static_cast<size_t>(merge.left)]),
                      to_byte_alphabet(vocabulary.tokens[static_cast<size_t>(merge.right)])});
  const Ordered byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", false}, {"use_regex", true}};
  Ordered json = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}, {"added_tokens", added}};
  json["normalizer"] = nullptr;
  if (vocabulary.normalization != Normalization::none)
    json["normalizer"] = {{"type", name_of(vocabulary.normalization)}};
  json["pre_tokenizer"] = pre_tokenizer_of(vocabulary.splitters);
  json["post_processor"] = byte_level;
  if (const auto begin = model.text_begin())
    json["post_processor"] = template_of(vocabulary.tokens.at(static_cast<size_t>(*begin)), *begin);
  json["decoder"] = byte_level;
  json["model"] = {{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", nullptr},
                   {"continuing_subword_prefix", nullptr},
                   {"end_of_word_suffix", nullptr},
                   {"fuse_unk", false},
                   {"byte_fallback", false},
                   {"ignore_merges", vocabulary.ignore_merges},
                   {"vocab", tokens},
                   {"merges", merges}};
  return json.dump(1) + "\n";
}

/// The special tokens that the metadata names by their ids, as texts, and what else tokenizer_config.json says.
std::string tokenizer_config(const ModelFiles& source, const GgufMetadata& metadata, const char* kind) {
  const ModelDescription& model = source.description();
  const std::vector<std::string>& texts = metadata.texts("tokenizer.ggml.tokens");
  Ordered config = {{"tokenizer_class", kind},
                    {"add_bos_token", model.add_bos},
                    {"add_eos_token", false},
                    {"clean_up_tokenization_spaces", false},
                    {"model_max_length", model.context}};
  constexpr std::pair<const char*, const char*> specials[] = {{"bos_token", "tokenizer.ggml.bos_token_id"},
                                                              {"eos_token", "tokenizer.ggml.eos_token_id"},
                                                              {"unk_token", "tokenizer.ggml.unknown_token_id"},
                                                              {"pad_token", "tokenizer.ggml.padding_token_id"}};
  for (const auto& [name, key] : specials)
    if (const auto id = metadata.integer(key); id && *id >= 0 && *id < static_cast<int64_t>(texts.size()))
      config[name] = texts[static_cast<size_t>(*id)];
  if (kind == std::string_view(llama_tokenizer)) {  // its rules on spaces, as llama.cpp has them
    config["legacy"] = true;
    config["add_prefix_space"] = metadata.flag("tokenizer.ggml.add_space_prefix", true);
  }
  if (!model.chat_template.empty()) config["chat_template"] = model.chat_template;
  return config.dump(2) + "\n";
}

}  // namespace

void write_tokenizer_files(const std::filesystem::path& folder, const ModelFiles& source) {
  const Vocabulary vocabulary = source.vocabulary();
  const auto* bpe = std::get_if<BpeVocabulary>(&vocabulary);
  if (bpe) write_file(folder / "tokenizer.json", tokenizer_json(*bpe, source.description()));
  else write_file(folder / "tokenizer.model", serialized(std::get<SentencePieceVocabulary>(vocabulary).model));
  // Llama's puts a space before every text.
  const bool is_gemma = family_named(source.description().family).stack == Stack::gemma;
  const char* pieces = is_gemma ? "GemmaTokenizer" : llama_tokenizer;
  write_file(folder / "tokenizer_config.json",
             tokenizer_config(source, *source.metadata(), bpe ? "PreTrainedTokenizerFast" : pieces));
}

}  // namespace headroom::models
