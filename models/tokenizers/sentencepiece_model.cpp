#include "models/tokenizers/sentencepiece_model.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <unordered_set>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/tokenizers/bpe_tokenizer.h"

namespace headroom::models {
namespace {

/// Numbers of the fields that we read. Source: sentencepiece_model.proto.
enum ModelField : uint32_t { pieces_field = 1, trainer_field = 2, normalizer_field = 3 };
enum PieceField : uint32_t { text_field = 1, score_field = 2, kind_field = 3 };
enum TrainerField : uint32_t { model_type_field = 3, suffix_field = 24, byte_fallback_field = 35 };
enum NormalizerField : uint32_t { charsmap_field = 2, prefix_field = 3, extra_field = 4, escape_field = 5 };

/// How a field of a protocol buffer lies.
enum Wire : uint32_t { wire_varint = 0, wire_fixed64 = 1, wire_bytes = 2, wire_fixed32 = 5 };

struct Field {
  uint32_t number = 0, wire = 0;
  uint64_t integer = 0;    ///< of a varint
  float fraction = 0;      ///< of a fixed32
  std::string_view bytes;  ///< of a message, string or packed list
};

/// Takes the fields of a message one after the other.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : left_(bytes) {}

  bool next(Field& field) {
    if (left_.empty()) return false;
    const uint64_t key = varint();
    field.number = static_cast<uint32_t>(key >> 3), field.wire = static_cast<uint32_t>(key & 7);
    require(key >> 3 != 0 && key >> 3 < (1u << 29), "has a field of number {}: no SentencePiece model?", key >> 3);
    switch (field.wire) {
      case wire_varint:
        field.integer = varint();
        return true;
      case wire_fixed64:
        take(8);
        return true;
      case wire_bytes:
        field.bytes = take(varint());
        return true;
      case wire_fixed32:
        std::memcpy(&field.fraction, take(4).data(), 4);
        return true;
      default:
        fail("field {} has wire type {}: no SentencePiece model?", field.number, field.wire);
    }
  }

 private:
  std::string_view take(uint64_t count) {
    require(count <= left_.size(), "a field of {} bytes ends beyond the {} that are left (truncated?)", count,
            left_.size());
    const std::string_view bytes = left_.substr(0, count);
    left_.remove_prefix(count);
    return bytes;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
    fail("holds a number of more than 64 bits: no SentencePiece model?");
  }

  std::string_view left_;
};

void want(const Field& field, uint32_t wire, const char* name) {
  require(field.wire == wire, "{}: has wire type {}, expected {}", name, field.wire, wire);
}

SentencePiece read_piece(std::string_view bytes) {
  SentencePiece piece;
  Field field;
  for (Fields fields(bytes); fields.next(field);) {
    if (field.number == text_field) want(field, wire_bytes, "piece"), piece.text = field.bytes;
    if (field.number == score_field) want(field, wire_fixed32, "score"), piece.score = field.fraction;
    if (field.number != kind_field) continue;
    want(field, wire_varint, "type");
    require(field.integer >= 1 && field.integer <= 6, "piece {}: has type {}, 1 to 6 are known",
            quoted_name(piece.text), field.integer);
    piece.kind = static_cast<PieceKind>(field.integer);
  }
  return piece;
}

void read_trainer(std::string_view bytes, SentencePieceModel& model) {
  Field field;
  for (Fields fields(bytes); fields.next(field);) {
    if (field.number == model_type_field) {
      want(field, wire_varint, "model_type");
      require(field.integer == 1 || field.integer == 2, "model_type is {}: only unigram (1) and BPE (2) are supported",
              field.integer);
      model.kind = static_cast<SentencePieceModel::Kind>(field.integer);
    }
    if (field.number == suffix_field) model.whitespace_as_suffix = field.integer != 0;
    if (field.number == byte_fallback_field) model.byte_fallback = field.integer != 0;
  }
}

void read_normalizer(std::string_view bytes, SentencePieceModel& model) {
  Field field;
  for (Fields fields(bytes); fields.next(field);) {
    if (field.number == charsmap_field) want(field, wire_bytes, "precompiled_charsmap"), model.charsmap = field.bytes;
    if (field.number == prefix_field) model.add_dummy_prefix = field.integer != 0;
    if (field.number == extra_field) model.remove_extra_whitespaces = field.integer != 0;
    if (field.number == escape_field) model.escape_whitespaces = field.integer != 0;
  }
}

/// The compiled rules are the bytes of a double-array trie, its length before it, and the texts that it points to. The
/// library follows its links without a look at where they lead, so none may lead out.
void check_charsmap(std::string_view map) {
  if (map.empty()) return;
  uint32_t trie_bytes = 0;
  require(map.size() > 4, "precompiled_charsmap has {} bytes", map.size());
  std::memcpy(&trie_bytes, map.data(), 4);
  require(trie_bytes > 0 && trie_bytes % 1024 == 0 && trie_bytes < map.size() - 4,
          "precompiled_charsmap: a table of {} bytes in {}", trie_bytes, map.size());
  const std::string_view texts = map.substr(4 + trie_bytes);
  require(texts.back() == '\0', "precompiled_charsmap: its texts do not end");
  const uint32_t units = trie_bytes / 4;
  for (uint32_t i = 0; i < units; ++i) {
    uint32_t unit = 0;
    std::memcpy(&unit, map.data() + 4 + 4 * i, 4);
    const bool is_leaf = (unit >> 31) != 0;
    const uint32_t offset = (unit >> 10) << ((unit & (1u << 9)) >> 6);
    const bool fits = is_leaf ? (unit & 0x7fffffffu) < texts.size() : ((i ^ offset) | 255u) < units;
    require(fits, "precompiled_charsmap: unit {} leads beyond the table", i);
  }
}

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}
void put_integer(std::string& out, uint32_t number, uint64_t value) {
  put_varint(out, number << 3 | wire_varint);
  put_varint(out, value);
}
void put_bytes(std::string& out, uint32_t number, std::string_view bytes) {
  put_varint(out, number << 3 | wire_bytes);
  put_varint(out, bytes.size());
  out += bytes;
}

}  // namespace

void check(const SentencePieceModel& model) {
  std::unordered_set<std::string_view> texts;
  size_t unknown = 0;
  require(!model.pieces.empty(), "holds no pieces: no SentencePiece model?");
  require(model.pieces.size() <= static_cast<size_t>(max_token_id), "holds {} pieces", model.pieces.size());
  for (const SentencePiece& piece : model.pieces) {
    require(!piece.text.empty(), "a piece is empty");
    // The library reads pieces up to a zero byte, and its trie throws an exception of its own where nothing is left.
    require(piece.text.find('\0') == std::string::npos, "piece {} holds a zero byte", quoted_name(piece.text));
    require(texts.insert(piece.text).second, "piece {} is given twice", quoted_name(piece.text));
    require(std::isfinite(piece.score), "piece {}: its score is not finite", quoted_name(piece.text));
    unknown += piece.kind == PieceKind::unknown ? 1 : 0;
    unsigned byte = 0;
    if (piece.kind == PieceKind::byte)
      require(piece.text.size() == 6 && std::sscanf(piece.text.c_str(), "<0x%2X>", &byte) == 1,
              "piece {} is no byte (<0x0A>)", quoted_name(piece.text));
  }
  require(unknown == 1, "holds {} unknown pieces, expected one", unknown);
  check_charsmap(model.charsmap);
}

SentencePieceModel parse_sentencepiece(std::string_view bytes) {
  SentencePieceModel model;
  Field field;
  for (Fields fields(bytes); fields.next(field);) {
    if (field.number > normalizer_field) continue;
    want(field, wire_bytes, field.number == pieces_field ? "pieces" : "specification");
    if (field.number == pieces_field) model.pieces.push_back(read_piece(field.bytes));
    if (field.number == trainer_field) read_trainer(field.bytes, model);
    if (field.number == normalizer_field) read_normalizer(field.bytes, model);
  }
  check(model);
  return model;
}

std::string serialized(const SentencePieceModel& model) {
  std::string out, trainer, normalizer;
  for (const SentencePiece& piece : model.pieces) {
    std::string message;
    put_bytes(message, text_field, piece.text);
    put_varint(message, score_field << 3 | wire_fixed32);
    message.append(reinterpret_cast<const char*>(&piece.score), sizeof piece.score);
    put_integer(message, kind_field, static_cast<uint64_t>(piece.kind));
    put_bytes(out, pieces_field, message);
  }
  put_integer(trainer, model_type_field, static_cast<uint64_t>(model.kind));
  put_integer(trainer, suffix_field, model.whitespace_as_suffix ? 1 : 0);
  put_integer(trainer, byte_fallback_field, model.byte_fallback ? 1 : 0);
  put_bytes(out, trainer_field, trainer);
  if (!model.charsmap.empty()) put_bytes(normalizer, charsmap_field, model.charsmap);
  put_integer(normalizer, prefix_field, model.add_dummy_prefix ? 1 : 0);
  put_integer(normalizer, extra_field, model.remove_extra_whitespaces ? 1 : 0);
  put_integer(normalizer, escape_field, model.escape_whitespaces ? 1 : 0);
  put_bytes(out, normalizer_field, normalizer);
  return out;
}

}  // namespace headroom::models
