#include "models/tokenizers/sentencepiece.h"

#include <sentencepiece_processor.h>

#include <cstdlib>

#include "engine/error.h"
#include "models/tokenizers/added_tokens.h"
#include "models/tokenizers/character_rules.h"

namespace headroom::models {
namespace {

/// The bytes that a piece stands for.
std::string bytes_of(const SentencePiece& piece, bool escapes) {
  if (piece.kind == PieceKind::byte)
    return std::string(1, static_cast<char>(std::strtol(piece.text.c_str() + 3, nullptr, 16)));
  if (!escapes || piece.kind == PieceKind::control || piece.kind == PieceKind::unknown) return piece.text;
  return with_spaces({}, piece.text);
}

/// Control pieces that are found in a text: none where every stretch between two would get a space of its own.
std::vector<AddedToken> controls_of(const SentencePieceModel& model) {
  std::vector<AddedToken> controls;
  for (size_t id = 0; id < model.pieces.size() && !model.add_dummy_prefix; ++id)
    if (model.pieces[id].kind == PieceKind::control)
      controls.push_back({model.pieces[id].text, static_cast<int32_t>(id), true});
  return controls;
}

class SentencePieceTokenizer : public Tokenizer {
 public:
  SentencePieceTokenizer(const SentencePieceModel& model, std::string name, std::filesystem::path file)
      : name_(std::move(name)),
        file_(std::move(file)),
        kind_(model.kind),
        byte_fallback_(model.byte_fallback),
        controls_(controls_of(model)),
        strips_space_(model.add_dummy_prefix && model.escape_whitespaces && !model.whitespace_as_suffix) {
    const auto status = processor_.LoadFromSerializedProto(serialized(model));
    require(status.ok(), "{}: {}", file_.string(), status.ToString());
    for (const SentencePiece& piece : model.pieces) tokens_.push_back(bytes_of(piece, model.escape_whitespaces));
  }

  std::vector<int32_t> encode(std::string_view text, Specials specials) const override {
    std::vector<int32_t> ids;
    for (size_t at = 0; at < text.size();) {
      const AddedTokens::Found next = controls_.find(text, at, specials == Specials::tokens);
      encode_ordinary(text.substr(at, next.at - at), ids);
      at = next.at;
      if (next.token == nullptr) break;
      ids.push_back(next.token->id);
      at += next.token->text.size();
    }
    return ids;
  }

  const std::string& token_bytes(int64_t id) const override {
    require(id >= 0 && id < vocab_size(), "{}: token {} is not in the vocabulary of {}", name_, id, vocab_size());
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
  std::string describe() const override {
    return fmt::format("{}: SentencePiece {}{}, {} tokens", name_,
                       kind_ == SentencePieceModel::Kind::bpe ? "BPE" : "unigram",
                       byte_fallback_ ? " with byte fallback" : "", vocab_size());
  }

 private:
  void encode_ordinary(std::string_view text, std::vector<int32_t>& ids) const {
    std::vector<int> own;
    const auto status = processor_.Encode(text, &own);
    require(status.ok(), "{}: {}", name_, status.ToString());
    ids.insert(ids.end(), own.begin(), own.end());
  }

  sentencepiece::SentencePieceProcessor processor_;
  std::string name_;
  std::filesystem::path file_;
  SentencePieceModel::Kind kind_;
  bool byte_fallback_;
  AddedTokens controls_;
  bool strips_space_;
  std::vector<std::string> tokens_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const SentencePieceModel& model, const std::string& name,
                                                        const std::filesystem::path& file) {
  return std::make_unique<SentencePieceTokenizer>(model, name, file);
}

}  // namespace headroom::models
