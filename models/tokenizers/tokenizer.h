#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::models {

/// How to read a special token's text ("<|endoftext|>") in the input: as the token, or as characters; or by who wrote
/// it, one mark for each byte of the input: as the token where each of its bytes has the mark 0.
class Specials {
 public:
  enum Kind { tokens, plain };
  Specials(Kind kind) : kind_(kind) {}
  explicit Specials(std::string_view marks) : kind_(tokens), marks_(marks) {}
  /// True if what stands in the bytes [begin, end) may be a special token.
  bool allowed(size_t begin, size_t end) const {
    return kind_ == tokens &&
           (marks_.empty() || marks_.substr(begin, end - begin).find_first_not_of('\0') == std::string_view::npos);
  }

 private:
  Kind kind_;
  std::string_view marks_;  ///< empty: all 0
};

/// Converts text (any bytes) to token ids in [0, vocab_size()) and back. Immutable: one may serve many threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Adds no tokens, such as a beginning of text. Takes any bytes; decode(encode(x)) == x unless describe() names a
  /// normalization or the vocabulary lacks bytes.
  virtual std::vector<int32_t> encode(std::string_view text, Specials specials = Specials::tokens) const = 0;
  /// The bytes of one id. Throws Error naming the id and the vocabulary's size if there is no such id.
  virtual const std::string& token_bytes(int64_t id) const = 0;
  /// One more than the largest id.
  virtual int64_t vocab_size() const = 0;
  /// "byte", "gpt2", …: the kind, or the name of the folder it came from.
  virtual const std::string& name() const = 0;
  /// Every file that was read, the vocabulary first; caches of ids hash them. Empty if there is none.
  virtual std::vector<std::filesystem::path> files() const = 0;
  /// The name of its splitter: "llama-bpe", "SentencePiece BPE".
  virtual std::string splitter() const = 0;
  /// One line: "gpt2: byte-level BPE, 50257 tokens, 1 special".
  virtual std::string describe() const = 0;

  /// The id whose bytes are `text`, even if encode() never gives it: a tokenizer that puts a space before every text
  /// never encodes one to a special token.
  std::optional<int32_t> id_of(std::string_view text) const;

  /// The text of the ids: their bytes joined, without anything encode() puts before every text. Throws Error as
  /// token_bytes() does.
  virtual std::string decode(const std::vector<int32_t>& ids) const;
};

/// Makes a tokenizer with 256 ids, one per byte, and no special tokens.
std::unique_ptr<Tokenizer> make_byte_tokenizer();

}  // namespace headroom::models
