#include "models/tokenizers/bpe_tokenizer.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "engine/error.h"
#include "models/tokenizers/character_rules.h"

namespace headroom::models {
namespace {

using IdOfBytes = std::unordered_map<std::string_view, int32_t>;

/// The text in its normal form, with the spaces that a normalizer puts.
std::string prepared(const BpeVocabulary& vocabulary, std::string_view text) {
  const std::string form = normalized(text, vocabulary.normalization);
  return vocabulary.characters ? with_spaces(*vocabulary.characters, form) : form;
}

class BpeTokenizer : public Tokenizer {
 public:
  explicit BpeTokenizer(BpeVocabulary vocabulary);

  std::vector<int32_t> encode(std::string_view text, Specials specials) const override;
  std::string decode(const std::vector<int32_t>& ids) const override;
  const std::string& token_bytes(int64_t id) const override;
  int64_t vocab_size() const override { return static_cast<int64_t>(vocabulary_.tokens.size()); }
  const std::string& name() const override { return vocabulary_.name; }
  std::vector<std::filesystem::path> files() const override { return vocabulary_.files; }
  std::string splitter() const override { return vocabulary_.splitter; }
  std::string describe() const override;

 private:
  /// A stretch between added tokens, at `offset` of the text.
  void encode_ordinary(std::string_view text, size_t offset, Specials specials, std::vector<int32_t>& ids) const;
  /// Encodes normalized text without added tokens.
  void encode_words(std::string_view text, size_t offset, std::vector<int32_t>& ids) const;
  void encode_piece(std::string_view piece, size_t offset, std::vector<int32_t>& ids) const;
  std::vector<int32_t> byte_symbols(std::string_view piece, size_t offset) const;

  BpeVocabulary vocabulary_;
  PairTable pairs_;
  AddedTokens added_, normalized_added_;
  IdOfBytes whole_pieces_;               ///< tokens that text can be; empty unless ignore_merges
  std::array<int32_t, 256> byte_ids_{};  ///< -1: no token
};

/// The added tokens to match in the text as it is, or in normalized text.
AddedTokens added_in(const BpeVocabulary& vocabulary, bool is_normalized) {
  std::vector<AddedToken> tokens;
  for (AddedToken token : vocabulary.added) {
    if (token.normalized != is_normalized) continue;
    if (is_normalized) token.text = prepared(vocabulary, token.text);
    tokens.push_back(std::move(token));
  }
  return AddedTokens(std::move(tokens));
}

BpeTokenizer::BpeTokenizer(BpeVocabulary vocabulary)
    : vocabulary_(std::move(vocabulary)),
      pairs_(vocabulary_.merges),
      added_(added_in(vocabulary_, false)),
      normalized_added_(added_in(vocabulary_, true)) {
  byte_ids_.fill(-1);
  auto& tokens = vocabulary_.tokens;
  for (size_t id = 0; id < tokens.size(); ++id)
    if (tokens[id].size() == 1) byte_ids_[static_cast<unsigned char>(tokens[id][0])] = static_cast<int32_t>(id);
  size_t size = tokens.size();
  for (const AddedToken& token : vocabulary_.added) {
    require(token.id >= 0 && token.id <= max_token_id, "{}: added token has id {}", vocabulary_.name, token.id);
    size = std::max(size, static_cast<size_t>(token.id) + 1);
  }
  tokens.resize(size);  // before whole_pieces_, whose views would dangle
  std::vector<bool> is_added(size);
  for (const AddedToken& token : vocabulary_.added) {
    tokens[static_cast<size_t>(token.id)] = token.text;
    is_added[static_cast<size_t>(token.id)] = true;
  }
  if (!vocabulary_.ignore_merges) return;
  whole_pieces_.reserve(size);
  const auto is_byte = [&](size_t id) {  // "<0x2D>", whose byte a "-" is, too
    return vocabulary_.characters && tokens[id].size() == 1 &&
           vocabulary_.characters->bytes[static_cast<unsigned char>(tokens[id][0])] == static_cast<int32_t>(id);
  };
  for (size_t id = 0; id < size; ++id)
    if (!tokens[id].empty() && !is_added[id] && !is_byte(id))
      whole_pieces_.emplace(tokens[id], static_cast<int32_t>(id));
}

std::vector<int32_t> BpeTokenizer::encode(std::string_view text, Specials specials) const {
  std::vector<int32_t> ids;
  added_.encode(text, specials, ids, [&](size_t begin, size_t end) {
    // Normalizing moves bytes, so that a piece is a message's as a whole or not at all.
    const Specials within = specials.allowed(begin, end) ? Specials::tokens : Specials::plain;
    encode_ordinary(text.substr(begin, end - begin), begin, within, ids);
  });
  return ids;
}

void BpeTokenizer::encode_ordinary(std::string_view text, size_t offset, Specials specials,
                                   std::vector<int32_t>& ids) const {
  if (text.empty()) return;
  const std::string form = prepared(vocabulary_, text);
  normalized_added_.encode(form, specials, ids, [&](size_t begin, size_t end) {
    std::string words = form.substr(begin, end - begin);
    if (vocabulary_.characters && !words.empty() && needs_space(*vocabulary_.characters, words, offset + begin == 0))
      words.insert(0, 1, ' ');
    encode_words(words, offset + begin, ids);
  });
}

void BpeTokenizer::encode_words(std::string_view text, size_t offset, std::vector<int32_t>& ids) const {
  std::vector<std::string_view> pieces, cut;
  if (!text.empty()) pieces.push_back(text);
  for (const Splitter& splitter : vocabulary_.splitters) {
    cut.clear();
    for (const std::string_view piece : pieces) splitter.split(piece, cut);
    std::swap(pieces, cut);
  }
  // Where in the ids so far a piece was encoded: words repeat, and copying is faster than merging again.
  std::unordered_map<std::string_view, std::pair<size_t, size_t>> encoded;
  constexpr size_t longest = 64, most = size_t{1} << 18;  // bounds of its memory
  for (const std::string_view piece : pieces) {
    const size_t begin = ids.size();
    if (const auto found = encoded.find(piece); found != encoded.end()) {
      for (size_t i = found->second.first; i < found->second.second; ++i) ids.push_back(ids[i]);
      continue;
    }
    encode_piece(piece, offset + static_cast<size_t>(piece.data() - text.data()), ids);
    if (piece.size() <= longest && encoded.size() < most) encoded.emplace(piece, std::pair(begin, ids.size()));
  }
}

void BpeTokenizer::encode_piece(std::string_view piece, size_t offset, std::vector<int32_t>& ids) const {
  if (vocabulary_.ignore_merges) {
    const auto whole = whole_pieces_.find(piece);
    if (whole != whole_pieces_.end()) {
      ids.push_back(whole->second);
      return;
    }
  }
  std::vector<int32_t> merged =
      vocabulary_.characters ? character_symbols(*vocabulary_.characters, piece) : byte_symbols(piece, offset);
  merge_pairs(pairs_, merged);
  ids.insert(ids.end(), merged.begin(), merged.end());
}

std::vector<int32_t> BpeTokenizer::byte_symbols(std::string_view piece, size_t offset) const {
  std::vector<int32_t> ids;
  ids.reserve(piece.size());
  for (size_t i = 0; i < piece.size(); ++i) {
    const auto byte = static_cast<unsigned char>(piece[i]);
    const int32_t id = byte_ids_[byte];
    require(id >= 0 || vocabulary_.lacking == LackingBytes::dropped, "{}: byte 0x{:02x} at {} of the text has no token",
            vocabulary_.name, byte, offset + i);
    if (id >= 0) ids.push_back(id);
  }
  return ids;
}

std::string BpeTokenizer::decode(const std::vector<int32_t>& ids) const {
  std::string text = Tokenizer::decode(ids);
  if (vocabulary_.characters && vocabulary_.characters->strips_space && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

const std::string& BpeTokenizer::token_bytes(int64_t id) const {
  require(id >= 0 && id < vocab_size() && !vocabulary_.tokens[static_cast<size_t>(id)].empty(),
          "{}: token {} is not in the vocabulary of {}", vocabulary_.name, id, vocab_size());
  return vocabulary_.tokens[static_cast<size_t>(id)];
}

std::string BpeTokenizer::describe() const {
  const auto& added = vocabulary_.added;
  const auto special = std::count_if(added.begin(), added.end(), [](const auto& t) { return t.special; });
  const auto lacking = vocabulary_.characters ? 0 : std::count(byte_ids_.begin(), byte_ids_.end(), -1);
  std::string text = fmt::format("{}: {} BPE, {} tokens, {} special", vocabulary_.name,
                                 vocabulary_.characters ? "SentencePiece's" : "byte-level", vocab_size(), special);
  if (vocabulary_.normalization != Normalization::none)
    text += fmt::format(", text normalized to {}", name_of(vocabulary_.normalization));
  if (lacking > 0)
    text += fmt::format(", no token for {} of the 256 bytes{}", lacking,
                        vocabulary_.lacking == LackingBytes::dropped ? ", which are dropped" : "");
  return text;
}

}  // namespace

std::unique_ptr<Tokenizer> make_bpe_tokenizer(BpeVocabulary vocabulary) {
  return std::make_unique<BpeTokenizer>(std::move(vocabulary));
}

}  // namespace headroom::models
