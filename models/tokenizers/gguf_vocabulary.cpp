#include <algorithm>
#include <utility>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/tokenizers/character_rules.h"
#include "models/tokenizers/loaders.h"
#include "models/tokenizers/vocabulary.h"

namespace headroom::models {
namespace {

/// Values of tokenizer.ggml.token_type. Source: llama.h, enum llama_token_type.
constexpr int64_t control_token = 3, user_token = 4;

/// The token types; ordinary tokens where the file has none.
std::vector<int64_t> types_of(const GgufMetadata& metadata, size_t tokens) {
  const char* key = "tokenizer.ggml.token_type";
  std::vector<int64_t> types(tokens, 1);
  if (metadata.contains(key)) types = metadata.integers(key);
  if (types.size() != tokens) metadata.complain(key, fmt::format("holds {} types for {} tokens", types.size(), tokens));
  return types;
}

BpeVocabulary byte_level(const GgufMetadata& metadata, const std::string& name, const std::filesystem::path& file) {
  const std::vector<std::string>& texts = metadata.texts("tokenizer.ggml.tokens");
  const std::vector<int64_t> types = types_of(metadata, texts.size());
  BpeVocabulary vocabulary;
  vocabulary.name = name;
  vocabulary.files = {file};
  std::map<int32_t, std::string> tokens;
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    tokens.emplace(id, texts[i]);
    if (types[i] == control_token || types[i] == user_token)
      vocabulary.added.push_back({texts[i], id, types[i] == control_token});
  }
  const char* key = "tokenizer.ggml.merges";
  std::vector<std::pair<std::string, std::string>> merges;
  try {
    for (const std::string& merge : metadata.texts(key)) merges.push_back(read_merge(merge));
    add_tokens_and_merges(vocabulary, tokens, merges);
  } catch (const Error& error) {
    metadata.complain(key, error.what());
  }
  const PreTokenizer& pre = gguf_pre_tokenizer(metadata);
  for (const std::string& pattern : pre.patterns) vocabulary.splitters.emplace_back(pattern);
  vocabulary.normalization = pre.normalization;
  vocabulary.ignore_merges = pre.whole_words;
  vocabulary.splitter = metadata.text("tokenizer.ggml.pre", default_pre_tokenizer);
  vocabulary.lacking = LackingBytes::dropped;
  return vocabulary;
}

SentencePieceVocabulary sentencepiece_of(const GgufMetadata& metadata, const std::string& name,
                                         const std::filesystem::path& file) {
  const std::vector<std::string>& texts = metadata.texts("tokenizer.ggml.tokens");
  const std::vector<int64_t> types = types_of(metadata, texts.size());
  const std::vector<double>& scores = metadata.numbers("tokenizer.ggml.scores");
  if (scores.size() != texts.size())
    metadata.complain("tokenizer.ggml.scores",
                      fmt::format("holds {} scores for {} tokens", scores.size(), texts.size()));
  SentencePieceModel model;
  model.kind = SentencePieceModel::Kind::bpe;
  model.byte_fallback = true;
  model.add_dummy_prefix = metadata.flag("tokenizer.ggml.add_space_prefix", true);
  model.remove_extra_whitespaces = metadata.flag("tokenizer.ggml.remove_extra_whitespaces", false);
  for (size_t i = 0; i < texts.size(); ++i) {
    if (types[i] < 1 || types[i] > 6)
      metadata.complain("tokenizer.ggml.token_type",
                        fmt::format("token {} has type {}, 1 to 6 are known", i, types[i]));
    const auto kind = static_cast<PieceKind>(types[i]);
    // llama.cpp's converter writes these with the spaces that a text has.
    model.pieces.push_back(
        {kind == PieceKind::user_defined ? with_marks(texts[i]) : texts[i], static_cast<float>(scores[i]), kind});
  }
  // Gemma's converter calls the unknown piece a control token; SentencePiece needs one that is it.
  const bool is_named = std::any_of(model.pieces.begin(), model.pieces.end(),
                                    [](const SentencePiece& piece) { return piece.kind == PieceKind::unknown; });
  const std::optional<int64_t> unknown = metadata.integer("tokenizer.ggml.unknown_token_id");
  if (!is_named && unknown && *unknown >= 0 && *unknown < std::ssize(model.pieces))
    model.pieces[static_cast<size_t>(*unknown)].kind = PieceKind::unknown;
  try {
    check(model);
  } catch (const Error& error) {
    metadata.complain("tokenizer.ggml.tokens", error.what());
  }
  return {model, name, file};
}

}  // namespace

Vocabulary gguf_vocabulary(const GgufMetadata& metadata, const std::string& name, const std::filesystem::path& file) {
  const char* key = "tokenizer.ggml.model";
  const std::string kind = metadata.text(key);
  if (kind == gguf_byte_level) return byte_level(metadata, name, file);
  if (kind == gguf_sentencepiece) return sentencepiece_of(metadata, name, file);
  metadata.complain(key, fmt::format("{} is not supported (gpt2 and llama are)", quoted_name(kind)));
}

const PreTokenizer& gguf_pre_tokenizer(const GgufMetadata& metadata) {
  const char* key = "tokenizer.ggml.pre";
  const std::string pre = metadata.text(key, default_pre_tokenizer);
  const PreTokenizer* known = pre_tokenizer_named(pre);
  if (known == nullptr)
    metadata.complain(key, fmt::format("{} names a way to cut texts that is not known here", quoted_name(pre)));
  return *known;
}

}  // namespace headroom::models
