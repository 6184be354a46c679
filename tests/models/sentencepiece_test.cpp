// SentencePiece models of our own making: what they encode, and which are refused.
#include <random>

#include "engine/error.h"
#include "models/tokenizers/load.h"
#include "models/tokenizers/vocabulary.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"

namespace headroom::models {
namespace {

using Ids = std::vector<int32_t>;
using testing::contains;
using testing::error_of;

/// Pieces for "ab", "abc" and single letters, and every byte where `bytes`.
SentencePieceModel small_model(SentencePieceModel::Kind kind, bool bytes) {
  SentencePieceModel model;
  model.kind = kind;
  model.byte_fallback = bytes;
  model.remove_extra_whitespaces = false;
  model.pieces = {{"<unk>", 0, PieceKind::unknown}, {"<s>", 0, PieceKind::control}, {"</s>", 0, PieceKind::control}};
  if (bytes)
    for (int byte = 0; byte < 256; ++byte)
      model.pieces.push_back({fmt::format("<0x{:02X}>", byte), 0, PieceKind::byte});
  for (const auto& [text, score] : std::vector<std::pair<std::string, float>>{
           {"ab", -1.f}, {"▁ab", -2.f}, {"abc", -3.f}, {"a", -10.f}, {"b", -11.f}, {"c", -12.f}, {"▁", -13.f}})
    model.pieces.push_back({text, score, PieceKind::normal});
  return model;
}

std::unique_ptr<Tokenizer> tokenizer_of(const SentencePieceModel& model) {
  return make_sentencepiece_tokenizer({model, "small", "small.model"});
}

std::string refusal(const SentencePieceModel& model) {
  return error_of([&] { parse_sentencepiece(serialized(model)); });
}

}  // namespace

TEST_CASE("a SentencePiece model merges by score, and falls back on bytes", "[tokenizer]") {
  const auto tokenizer = tokenizer_of(small_model(SentencePieceModel::Kind::bpe, true));
  const int32_t first = 3 + 256;
  CHECK(tokenizer->encode("ab abc") == Ids{first + 1, first + 1, first + 5});  // "▁ab" before "abc"
  CHECK(tokenizer->encode("é") == Ids{first + 6, 3 + 0xc3, 3 + 0xa9});
  CHECK(tokenizer->decode(tokenizer->encode("ab é\nabc")) == "ab é\nabc");
  CHECK(tokenizer->token_bytes(3 + 0x0a) == "\n");
  CHECK(tokenizer->token_bytes(first + 1) == " ab");
  CHECK(tokenizer->token_bytes(1) == "<s>");
  CHECK(tokenizer->encode("").empty());
}

TEST_CASE("a unigram model takes the likeliest pieces", "[tokenizer]") {
  const auto tokenizer = tokenizer_of(small_model(SentencePieceModel::Kind::unigram, false));
  CHECK(tokenizer->encode("abc") == Ids{4, 8});  // "▁ab", "c": -14, against "▁", "abc": -16
  CHECK(tokenizer->encode("x").back() == 0);
  CHECK(tokenizer->describe() == "small: SentencePiece unigram, 10 tokens");
}

TEST_CASE("tokens are added to a SentencePiece model's pieces, and spaces go where its rules say", "[tokenizer]") {
  const SentencePieceModel model = small_model(SentencePieceModel::Kind::bpe, true);
  const int32_t ab = 3 + 256, spaced_ab = ab + 1, end = static_cast<int32_t>(model.pieces.size()), hi = end + 2;
  SentencePieceVocabulary vocabulary{model, "small", "small.model", {{"<hi>", hi, false}}};
  const auto every = make_sentencepiece_tokenizer(vocabulary);
  CHECK(every->vocab_size() == hi + 1);
  CHECK(every->describe() == fmt::format("small: SentencePiece BPE with byte fallback, {} tokens", hi + 1));
  CHECK(every->encode("ab<hi>ab") == Ids{spaced_ab, hi, spaced_ab});
  CHECK(every->decode({spaced_ab, hi, spaced_ab}) == "ab<hi> ab");
  CHECK(every->decode({hi}) == "<hi>");
  for (const int64_t id : {int64_t{-1}, int64_t{end}, int64_t{hi} + 1})
    CHECK_THAT(error_of([&] { every->token_bytes(id); }),
               contains(fmt::format("token {} is not in the vocabulary", id)));
  vocabulary.spaces_every = false;
  const auto once = make_sentencepiece_tokenizer(vocabulary);
  CHECK(once->encode("ab<hi>ab") == Ids{spaced_ab, hi, ab});
  vocabulary.only_missing = true;
  const auto missing = make_sentencepiece_tokenizer(vocabulary);
  CHECK(missing->encode("ab") == Ids{spaced_ab});
  CHECK(missing->encode(" ab") == Ids{spaced_ab});
  CHECK(missing->encode("\xe2\x96\x81"
                        "ab") == Ids{spaced_ab});

  for (const int32_t id : {-1, static_cast<int32_t>(max_token_id) + 1}) {
    vocabulary.added = {{"<hi>", id, false}};
    CHECK_THAT(error_of([&] { make_sentencepiece_tokenizer(vocabulary); }),
               contains(fmt::format("small.model: added token has id {}", id)));
  }
  SentencePieceModel plain = model;
  plain.escape_whitespaces = false;
  plain.pieces.push_back({" ab", -2.f, PieceKind::normal});
  CHECK(tokenizer_of(plain)->decode({end}) == " ab");  // nothing was put in front of it
  SentencePieceModel behind = model;
  behind.whitespace_as_suffix = true;
  behind.pieces.push_back({"ab▁", -1.5f, PieceKind::normal});
  CHECK(tokenizer_of(behind)->encode("ab") == Ids{end});
  CHECK(tokenizer_of(behind)->decode({end}) == "ab ");
}

TEST_CASE("a SentencePiece model that is wrong is refused", "[tokenizer]") {
  const SentencePieceModel good = small_model(SentencePieceModel::Kind::bpe, true);
  CHECK(refusal(good).empty());
  const auto changed = [&](const auto& change) {
    SentencePieceModel model = good;
    change(model);
    return refusal(model);
  };
  CHECK_THAT(changed([](auto& m) { m.pieces.clear(); }), contains("holds no pieces"));
  CHECK_THAT(changed([](auto& m) { m.pieces[1].text = "<unk>"; }), contains("piece '<unk>' is given twice"));
  CHECK_THAT(changed([](auto& m) { m.pieces[1].text = ""; }), contains("a piece is empty"));
  CHECK_THAT(changed([](auto& m) { m.pieces[1].text = std::string("a\0", 2); }), contains("holds a zero byte"));
  CHECK_THAT(changed([](auto& m) { m.pieces[0].kind = PieceKind::normal; }), contains("holds 0 unknown pieces"));
  CHECK_THAT(changed([](auto& m) { m.pieces[1].kind = PieceKind::unknown; }), contains("holds 2 unknown pieces"));
  CHECK_THAT(changed([](auto& m) { m.pieces[5].score = NAN; }), contains("its score is not finite"));
  CHECK_THAT(changed([](auto& m) { m.pieces[5].text = "<0xZZ>"; }), contains("is no byte"));
  CHECK_THAT(changed([](auto& m) { m.pieces[5].kind = static_cast<PieceKind>(7); }), contains("has type 7"));
  CHECK_THAT(changed([](auto& m) { m.kind = static_cast<SentencePieceModel::Kind>(3); }), contains("model_type is 3"));
  CHECK_THAT(changed([](auto& m) { m.charsmap = "abc"; }), contains("precompiled_charsmap has 3 bytes"));
  CHECK_THAT(changed([](auto& m) {
               m.charsmap = std::string("\0\4\0\0", 4) + std::string(1024, '\x7f') + std::string("x\0", 2);
             }),
             contains("leads beyond the table"));
  const auto mapped = [&](const std::string& length, const std::string& texts) {
    return changed([&](auto& m) { m.charsmap = length + std::string(1024, '\0') + texts; });
  };
  CHECK(mapped(std::string("\0\4\0\0", 4), std::string("x\0", 2)).empty());
  CHECK_THAT(mapped(std::string("\0\4\0\0", 4), "x"), contains("its texts do not end"));
  for (const char* length : {"\0\0\0\0", "\1\4\0\0", "\0\10\0\0"})
    CHECK_THAT(mapped(std::string(length, 4), std::string("x\0", 2)), contains("precompiled_charsmap: a table of "));
  const auto read = [](const std::string& bytes) { return error_of([&] { parse_sentencepiece(bytes); }); };
  CHECK_THAT(read(std::string("\0\0", 2)), contains("has a field of number 0"));
  CHECK_THAT(read("\xf8\xff\xff\xff\xff\x01"), contains("has a field of number "));
  CHECK_THAT(read("\x08" + std::string(11, '\xff')), contains("holds a number of more than 64 bits"));
  CHECK_THAT(read("\x0a\x02\x08\x01"), contains("piece: has wire type 0, expected 2"));
  CHECK_THAT(read("\x0b"), contains("field 1 has wire type 3"));
  CHECK_THAT(read("\x12\x03\x1a\x01x"), contains("model_type: has wire type 2, expected 0"));
}

TEST_CASE("no change of a .model file crashes its reader or its tokenizer", "[tokenizer]") {
  const std::string bytes = serialized(small_model(SentencePieceModel::Kind::bpe, true));
  const testing::TemporaryFolder folder;
  std::mt19937 random(5);
  size_t refused = 0;
  for (size_t i = 0; i < 3000; ++i) {
    std::string changed = bytes;
    if (i < 300) changed.resize(bytes.size() * i / 300);
    else
      for (auto n = random() % 3 + 1; n-- > 0;) changed[random() % bytes.size()] = static_cast<char>(random());
    testing::write_bytes(folder / "tokenizer.model", changed);
    try {
      load_tokenizer((folder / "tokenizer.model").string())->encode("ab abc é\n");
    } catch (const Error& error) {
      REQUIRE_THAT(std::string(error.what()), contains("tokenizer.model"));
      ++refused;
    }
  }
  CHECK(refused > 1000);
}

}  // namespace headroom::models
