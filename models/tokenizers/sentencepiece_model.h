#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace headroom::models {

/// A piece's kind, numbered as in the file.
enum class PieceKind { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct SentencePiece {
  std::string text;  ///< with U+2581 for a space; "<0x0A>" for a byte
  float score = 0;
  PieceKind kind = PieceKind::normal;
};

/// A SentencePiece model (Kudo & Richardson, 2018), as in sentencepiece_model.proto; a piece's id is its index.
struct SentencePieceModel {
  enum class Kind { unigram = 1, bpe = 2 };
  Kind kind = Kind::unigram;
  std::vector<SentencePiece> pieces;
  bool byte_fallback = false;            ///< text that no piece covers becomes byte pieces
  bool add_dummy_prefix = true;          ///< puts a space before the text
  bool remove_extra_whitespaces = true;  ///< at both ends, and in runs
  bool escape_whitespaces = true;
  bool whitespace_as_suffix = false;
  std::string charsmap;  ///< compiled normalization rules; "" = none
};

/// Reads a `.model` file's protocol buffer. Throws Error, without the file's name, naming the faulty field: cut short
/// or of a wrong type, a repeated or empty piece, a score that is not finite, no unknown piece or two, a model other
/// than unigram or BPE, compiled rules that reach beyond their table.
SentencePieceModel parse_sentencepiece(std::string_view bytes);

/// Throws Error as parse_sentencepiece() does, for a model that did not come from a file.
void check(const SentencePieceModel& model);

/// A model as a protocol buffer.
std::string serialized(const SentencePieceModel& model);

}  // namespace headroom::models
