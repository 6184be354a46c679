#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace headroom::models {

/// What a piece of a SentencePiece model is; the numbers are those of the file.
enum class PieceKind { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct SentencePiece {
  std::string text;  ///< with U+2581 for a space; "<0x0A>" for a byte
  float score = 0;
  PieceKind kind = PieceKind::normal;
};

/// A SentencePiece model (Kudo & Richardson, 2018), as sentencepiece_model.proto has it; the id of a piece is its
/// place.
struct SentencePieceModel {
  enum class Kind { unigram = 1, bpe = 2 };
  Kind kind = Kind::unigram;
  std::vector<SentencePiece> pieces;
  bool byte_fallback = false;            ///< what no piece covers becomes the pieces of its bytes
  bool add_dummy_prefix = true;          ///< a space before the text
  bool remove_extra_whitespaces = true;  ///< at both ends, and runs of them
  bool escape_whitespaces = true;
  bool whitespace_as_suffix = false;
  std::string charsmap;  ///< compiled rules of normalization; "" = the text as it is
};

/// Reads the protocol buffer of a `.model` file. Throws Error, without the file's name, naming the field at fault: cut
/// or of a wrong type, a piece given twice or empty, a score that is not finite, no unknown piece or two of them, a
/// kind of model other than unigram and BPE, compiled rules that reach beyond their table.
SentencePieceModel parse_sentencepiece(std::string_view bytes);

/// Throws Error as parse_sentencepiece() does, for a model that was not read from a file.
void check(const SentencePieceModel& model);

/// The protocol buffer of a model.
std::string serialized(const SentencePieceModel& model);

}  // namespace headroom::models
