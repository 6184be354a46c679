#include <sentencepiece_processor.h>

#include <algorithm>
#include <cstdlib>

#include "engine/error.h"
#include "models/tokenizers/added_tokens.h"
#include "models/tokenizers/character_rules.h"
#include "models/tokenizers/vocabulary.h"

namespace headroom::models {
namespace {

/// The bytes that a piece stands for.
std::string bytes_of(const SentencePiece& piece, bool escapes) {
  if (piece.kind == PieceKind::byte)
    return std::string(1, static_cast<char>(std::strtol(piece.text.c_str() + 3, nullptr, 16)));
  if (!escapes || piece.kind == PieceKind::control || piece.kind == PieceKind::unknown) return piece.text;
  return with_spaces({}, piece.text);
}

/// Tokens that are found in a text before its pieces: added ones, control pieces, the unknown one.
std::vector<AddedToken> found_first(const SentencePieceVocabulary& vocabulary) {
  std::vector<AddedToken> tokens = vocabulary.added;
  const std::vector<SentencePiece>& pieces = vocabulary.model.pieces;
  for (size_t id = 0; id < pieces.size(); ++id)
    if (pieces[id].kind == PieceKind::control || pieces[id].kind == PieceKind::unknown)
      tokens.push_back({pieces[id].text, static_cast<int32_t>(id), true});
  return tokens;
}

void load_pieces(sentencepiece::SentencePieceProcessor& processor, const SentencePieceModel& model,
                 const std::filesystem::path& file) {
  const auto status = processor.LoadFromSerializedProto(serialized(model));
  require(status.ok(), "{}: {}", file.string(), status.ToString());
}

class SentencePieceTokenizer : public Tokenizer {
 public:
  explicit SentencePieceTokenizer(const SentencePieceVocabulary& vocabulary)
      : name_(vocabulary.name),
        file_(vocabulary.file),
        kind_(vocabulary.model.kind),
        byte_fallback_(vocabulary.model.byte_fallback),
        spaces_every_(vocabulary.spaces_every),
        only_missing_(vocabulary.only_missing),
        first_(found_first(vocabulary)) {
    SentencePieceModel model = vocabulary.model;
    strips_space_ = model.add_dummy_prefix && model.escape_whitespaces && !model.whitespace_as_suffix;
    load_pieces(processor_, model, file_);
    for (const SentencePiece& piece : model.pieces) tokens_.push_back(bytes_of(piece, model.escape_whitespaces));
    for (const AddedToken& token : vocabulary.added) {
      require(token.id >= 0 && token.id <= max_token_id, "{}: added token has id {}", file_.string(), token.id);
      tokens_.resize(std::max(tokens_.size(), static_cast<size_t>(token.id) + 1));
      tokens_[static_cast<size_t>(token.id)] = token.text;
    }
    model.add_dummy_prefix = false;
    if (strips_space_ && (only_missing_ || !spaces_every_)) load_pieces(without_space_, model, file_);
  }

  std::vector<int32_t> encode(std::string_view text, Specials specials) const override {
    std::vector<int32_t> ids;
    first_.encode(text, specials, ids,
                  [&](size_t begin, size_t end) { encode_ordinary(text.substr(begin, end - begin), begin == 0, ids); });
    return ids;
  }

  const std::string& token_bytes(int64_t id) const override {
    require(id >= 0 && id < vocab_size() && !tokens_[static_cast<size_t>(id)].empty(),
            "{}: token {} is not in the vocabulary of {}", name_, id, vocab_size());
    return tokens_[static_cast<size_t>(id)];
  }

  std::string decode(const std::vector<int32_t>& ids) const override {
    std::string text = Tokenizer::decode(ids);
    if (strips_space_ && text.starts_with(' ')) text.erase(0, 1);
    return text;
  }

  int64_t vocab_size() const override { return static_cast<int64_t>(tokens_.size()); }
  const std::string& name() const override { return name_; }
  std::vector<std::filesystem::path> files() const override { return {file_}; }
  std::string splitter() const override {
    return kind_ == SentencePieceModel::Kind::bpe ? "SentencePiece BPE" : "SentencePiece unigram";
  }
  std::string describe() const override {
    return fmt::format("{}: {}{}, {} tokens", name_, splitter(), byte_fallback_ ? " with byte fallback" : "",
                       vocab_size());
  }

 private:
  void encode_ordinary(std::string_view text, bool is_first, std::vector<int32_t>& ids) const {
    std::vector<int> own;
    const bool puts_space =
        (is_first || spaces_every_) && !(only_missing_ && (text.starts_with(' ') || text.starts_with(space_mark)));
    const auto& processor = puts_space || !strips_space_ ? processor_ : without_space_;
    const auto status = processor.Encode(text, &own);
    require(status.ok(), "{}: {}", name_, status.ToString());
    ids.insert(ids.end(), own.begin(), own.end());
  }

  sentencepiece::SentencePieceProcessor processor_, without_space_;
  std::string name_;
  std::filesystem::path file_;
  SentencePieceModel::Kind kind_;
  bool byte_fallback_, spaces_every_, only_missing_;
  AddedTokens first_;
  bool strips_space_ = false;
  std::vector<std::string> tokens_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const SentencePieceVocabulary& vocabulary) {
  return std::make_unique<SentencePieceTokenizer>(vocabulary);
}

}  // namespace headroom::models
