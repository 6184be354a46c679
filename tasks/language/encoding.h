#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/data/locate.h"

namespace headroom::tasks {

/// Encodes text as token ids in [0, vocab).
class Encoding {
 public:
  virtual ~Encoding() = default;
  virtual int64_t vocab() const = 0;
  /// Encodings with equal identities give equal ids for equal texts.
  virtual std::string identity() const = 0;
  /// Throws Error naming `name` (a file) and the offset of anything that cannot be encoded.
  virtual std::vector<int32_t> encode(std::string_view text, const std::string& name) const = 0;
  /// The number of characters (code points) that each id stands for, (vocab): the divisor of bits per character. A
  /// token of bytes within a code point counts 0.
  virtual std::vector<int32_t> characters() const = 0;
};

/// A text and its file, for messages.
struct NamedText {
  std::string name;
  std::string_view text;
};

/// `tokenizer` is "char" (the vocabulary is the sorted set of the texts' code points), "byte" (256 ids), or a
/// tokenizer's file or folder, as given or under a data folder ("tokenizers/gpt2"). Special tokens in the text count as
/// plain text. Throws Error if a text is not UTF-8 ("char"), or if the tokenizer cannot be found or read.
std::unique_ptr<Encoding> make_encoding(const std::string& tokenizer, const std::vector<NamedText>& texts,
                                        const DataRoots& roots);

}  // namespace headroom::tasks
