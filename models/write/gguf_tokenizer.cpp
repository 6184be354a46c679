#include <algorithm>
#include <map>
#include <unordered_map>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/tokenizers/byte_alphabet.h"
#include "models/tokenizers/character_rules.h"
#include "models/write/gguf_metadata.h"

namespace headroom::models {
namespace {

constexpr const char* one_more_space =
    "a text that begins with a space gets one more from a GGUF file's tokenizer than from this one";

/// Values of tokenizer.ggml.token_type. Source: llama.h, enum llama_token_type.
enum TokenType : int64_t { normal_type = 1, unknown_type = 2, control_type = 3, user_type = 4, unused_type = 5 };
constexpr int64_t byte_type = 6;

/// A vocabulary as a GGUF file lists it, by id.
struct TokenList {
  std::vector<std::string> texts;
  std::vector<int64_t> types;
  std::vector<double> scores;

  /// Ids without a token up to `size` are padding.
  void resize(size_t size) {
    for (size_t id = texts.size(); id < size; ++id) texts.push_back(""), types.push_back(unused_type);
    for (size_t id = 0; id < texts.size(); ++id)
      if (texts[id].empty()) texts[id] = fmt::format("[PAD{}]", id), types[id] = unused_type;
    scores.resize(texts.size(), -1e9);
  }
  void set(size_t id, const std::string& text, int64_t type) {
    if (texts.size() <= id) texts.resize(id + 1), types.resize(id + 1, unused_type);
    texts[id] = text, types[id] = type;
  }
};

/// The tokens of a BPE vocabulary as its own file has them.
TokenList tokens_of(const BpeVocabulary& vocabulary) {
  TokenList list;
  list.texts.resize(vocabulary.tokens.size());
  list.types.assign(vocabulary.tokens.size(), normal_type);
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string& bytes = vocabulary.tokens[id];
    if (bytes.empty()) continue;
    list.texts[id] = vocabulary.characters ? with_marks(bytes) : to_byte_alphabet(bytes);
  }
  if (const auto& rules = vocabulary.characters) {
    for (size_t byte = 0; byte < 256; ++byte)
      if (const int32_t id = rules->bytes[byte]; id >= 0)
        list.set(static_cast<size_t>(id), fmt::format("<0x{:02X}>", byte), byte_type);
  }
  for (const AddedToken& token : vocabulary.added)
    list.set(static_cast<size_t>(token.id), token.text, token.special ? control_type : user_type);
  if (vocabulary.characters && vocabulary.characters->unknown >= 0)
    list.types[static_cast<size_t>(vocabulary.characters->unknown)] = unknown_type;
  return list;
}

void add_byte_level(const BpeVocabulary& vocabulary, size_t rows, GgufPairs& pairs) {
  const PreTokenizer* pre = pre_tokenizer_of(vocabulary.splitters, vocabulary.ignore_merges);
  require(pre != nullptr, "{}: GGUF files have no name for the way in which its pre_tokenizer cuts a text",
          vocabulary.files.front().string());
  const bool is_form_known =
      vocabulary.normalization == Normalization::none || vocabulary.normalization == pre->normalization;
  require(is_form_known, "{}: GGUF files cannot say that text is normalized to {}", vocabulary.files.front().string(),
          name_of(vocabulary.normalization));
  TokenList list = tokens_of(vocabulary);
  list.resize(rows);
  std::vector<std::string> merges;
  for (const Merge& merge : vocabulary.merges)
    merges.push_back(to_byte_alphabet(vocabulary.tokens[static_cast<size_t>(merge.left)]) + " " +
                     to_byte_alphabet(vocabulary.tokens[static_cast<size_t>(merge.right)]));
  pairs.emplace_back("tokenizer.ggml.model", gguf_text(gguf_byte_level));
  pairs.emplace_back("tokenizer.ggml.pre", gguf_text(pre->names[0]));
  pairs.emplace_back("tokenizer.ggml.tokens", gguf_list(std::move(list.texts)));
  pairs.emplace_back("tokenizer.ggml.token_type", gguf_i32_list(std::move(list.types)));
  pairs.emplace_back("tokenizer.ggml.merges", gguf_list(std::move(merges)));
}

void add_scored(TokenList list, size_t rows, bool space_prefix, GgufPairs& pairs) {
  list.resize(rows);
  pairs.emplace_back("tokenizer.ggml.model", gguf_text(gguf_sentencepiece));
  pairs.emplace_back("tokenizer.ggml.pre", gguf_text("default"));
  pairs.emplace_back("tokenizer.ggml.tokens", gguf_list(std::move(list.texts)));
  pairs.emplace_back("tokenizer.ggml.scores", gguf_f32_list(std::move(list.scores)));
  pairs.emplace_back("tokenizer.ggml.token_type", gguf_i32_list(std::move(list.types)));
  pairs.emplace_back("tokenizer.ggml.add_space_prefix", gguf_flag(space_prefix));
}

/// The id of a special token that tokenizer_config.json names by its text, or by an object that holds it.
std::optional<int64_t> id_named(const nlohmann::json& config, const char* key, const std::vector<std::string>& texts) {
  const nlohmann::json &named = member(config, key), &text = named.is_object() ? member(named, "content") : named;
  if (!text.is_string()) return std::nullopt;
  const auto found = std::find(texts.begin(), texts.end(), text.get<std::string>());
  if (found == texts.end()) return std::nullopt;
  return found - texts.begin();
}

/// Merges by rank as pieces with scores: a piece is worth the more the earlier it can be made.
void add_characters(const BpeVocabulary& vocabulary, const nlohmann::json& config, size_t rows, GgufPairs& pairs,
                    std::vector<std::string>& notes) {
  require(vocabulary.normalization == Normalization::none, "{}: GGUF files cannot say that text is normalized to {}",
          vocabulary.files.front().string(), name_of(vocabulary.normalization));
  TokenList list = tokens_of(vocabulary);
  // With all bytes there is nothing unknown, and the file need not name its token; SentencePiece needs one.
  if (std::find(list.types.begin(), list.types.end(), unknown_type) == list.types.end()) {
    const auto found = std::find(list.texts.begin(), list.texts.end(), "<unk>");
    const auto id = id_named(config, "unk_token", list.texts).value_or(found - list.texts.begin());
    require(id < static_cast<int64_t>(list.texts.size()), "{}: has no unknown token, which a GGUF file of llama needs",
            vocabulary.files.front().string());
    list.types[static_cast<size_t>(id)] = unknown_type;
  }
  list.scores.assign(list.texts.size(), -static_cast<double>(vocabulary.merges.size()) - 1);
  for (auto merge = vocabulary.merges.rbegin(); merge != vocabulary.merges.rend(); ++merge)
    list.scores[static_cast<size_t>(merge->result)] = -static_cast<double>(merge->rank);
  const bool has_prefix = vocabulary.characters->prefix != CharacterRules::Prefix::none;
  if (has_prefix && vocabulary.characters->only_missing) notes.emplace_back(one_more_space);
  add_scored(std::move(list), rows, has_prefix, pairs);
}

void add_pieces(const SentencePieceVocabulary& vocabulary, size_t rows, GgufPairs& pairs,
                std::vector<std::string>& notes) {
  const SentencePieceModel& model = vocabulary.model;
  const auto want = [&](bool holds, const char* what) {
    require(holds, "{}: GGUF files of llama cannot say: {}", vocabulary.file.string(), what);
  };
  want(model.kind == SentencePieceModel::Kind::bpe, "a unigram model");
  want(model.charsmap.empty(), "compiled rules of normalization");
  want(model.escape_whitespaces && !model.whitespace_as_suffix, "spaces other than U+2581 before a word");
  want(model.byte_fallback, "a model without byte fallback");
  TokenList list;
  for (const SentencePiece& piece : model.pieces) {
    const bool is_user = piece.kind == PieceKind::user_defined;  // as llama.cpp's converter writes them
    list.set(list.texts.size(), is_user ? with_spaces({}, piece.text) : piece.text, static_cast<int64_t>(piece.kind));
    list.scores.push_back(piece.score);
  }
  for (const AddedToken& token : vocabulary.added)
    if (const auto id = static_cast<size_t>(token.id); id >= model.pieces.size() && id < rows)
      list.set(id, token.text, token.special ? control_type : user_type);
  if (model.add_dummy_prefix && vocabulary.only_missing) notes.emplace_back(one_more_space);
  add_scored(std::move(list), rows, model.add_dummy_prefix, pairs);
  pairs.emplace_back("tokenizer.ggml.remove_extra_whitespaces", gguf_flag(model.remove_extra_whitespaces));
}

/// The tokens that begin and end texts, by their ids.
void add_specials(const ModelDescription& model, const nlohmann::json& config, const std::vector<std::string>& texts,
                  GgufPairs& pairs, std::vector<std::string>& notes) {
  const auto add = [&](const char* key, std::optional<int64_t> id) {
    if (id) pairs.emplace_back(fmt::format("tokenizer.ggml.{}_token_id", key), gguf_u32(*id));
  };
  std::vector<int64_t> ends = model.eos;
  const auto own = id_named(config, "eos_token", texts);
  if (const auto at = std::find(ends.begin(), ends.end(), own.value_or(-1)); at != ends.end())
    std::rotate(ends.begin(), at, at + 1);
  add("bos", model.bos);
  if (!ends.empty()) add("eos", ends[0]);
  if (ends.size() > 1) add("eot", ends[1]);
  if (ends.size() > 2)
    notes.push_back(fmt::format("{} of the {} tokens that end an answer are left out", ends.size() - 2, ends.size()));
  add("unknown", id_named(config, "unk_token", texts));
  add("padding", id_named(config, "pad_token", texts));
}

}  // namespace

void add_tokenizer(const ModelFiles& source, GgufPairs& pairs, std::vector<std::string>& notes) {
  const ModelDescription& model = source.description();
  const nlohmann::json config = read_optional_object(source.path() / "tokenizer_config.json");
  if (!source.has_tokenizer()) {
    notes.emplace_back("the folder holds no tokenizer: the GGUF file has none either, and other software needs one");
    add_specials(model, config, {}, pairs, notes);
    return;
  }
  const auto rows = static_cast<size_t>(model.config.vocab);
  const Vocabulary vocabulary = source.vocabulary();
  const auto* bpe = std::get_if<BpeVocabulary>(&vocabulary);
  if (!bpe) add_pieces(std::get<SentencePieceVocabulary>(vocabulary), rows, pairs, notes);
  else if (bpe->characters) add_characters(*bpe, config, rows, pairs, notes);
  else add_byte_level(*bpe, rows, pairs);
  const auto tokens =
      std::find_if(pairs.begin(), pairs.end(), [](const auto& pair) { return pair.first == "tokenizer.ggml.tokens"; });
  add_specials(model, config, std::get<std::vector<std::string>>(tokens->second.items), pairs, notes);
  pairs.emplace_back("tokenizer.ggml.add_bos_token", gguf_flag(model.add_bos));
  if (!model.chat_template.empty()) pairs.emplace_back("tokenizer.chat_template", gguf_text(model.chat_template));
}

}  // namespace headroom::models
