#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/tokenizers/tokenizer.h"

namespace headroom::models {

/// A token that is matched in the text before anything else.
struct AddedToken {
  std::string text;
  int32_t id = 0;
  bool special = true;      ///< Specials::plain ignores it
  bool normalized = false;  ///< matched in normalized text, after normalizing the token's own text
};

/// Finds added tokens: the leftmost match, and the longest at that place. Each text position costs at most the
/// logarithm of the number of tokens for each byte that it shares with some token.
class AddedTokens {
 public:
  /// Tokens with empty text never match; among equal texts the first wins.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  struct Found {
    size_t at = 0;
    const AddedToken* token = nullptr;  ///< nullptr: none from the given place on
  };
  Found find(std::string_view text, size_t from, const Specials& specials) const;
  /// Appends the ids of the tokens in the text, and between them what `ordinary` appends for the bytes [begin, end) of
  /// each stretch without one, which may be empty in front of a token.
  void encode(std::string_view text, const Specials& specials, std::vector<int32_t>& ids,
              const std::function<void(size_t begin, size_t end)>& ordinary) const;

 private:
  /// The longest token that `text` has at `at`; nullptr if none.
  const AddedToken* longest(std::string_view text, size_t at, const Specials& specials) const;

  std::vector<AddedToken> tokens_;  ///< sorted by text
  /// The range in tokens_ for each first byte.
  std::array<std::pair<size_t, size_t>, 256> by_first_byte_{};
};

}  // namespace headroom::models
