#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom::models {

/// A token that is found in the text before anything else.
struct AddedToken {
  std::string text;
  int32_t id = 0;
  bool special = true;      ///< no text of its own: Specials::plain ignores it
  bool normalized = false;  ///< found after the text is normalized, and as its own text is then
};

/// Finds added tokens: the leftmost, and of those that start there the longest. A place of the text costs no more than
/// the logarithm of their number for each byte that some token shares with it.
class AddedTokens {
 public:
  /// Those with an empty text are never found; of several with the same text the first is.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  struct Found {
    size_t at = 0;
    const AddedToken* token = nullptr;  ///< nullptr: none from the given place on
  };
  Found find(std::string_view text, size_t from, bool with_specials) const;

 private:
  /// The longest token that `text` begins with; nullptr where there is none.
  const AddedToken* longest(std::string_view text, bool with_specials) const;

  std::vector<AddedToken> tokens_;  ///< by their texts
  /// Where in them those with each first byte are.
  std::array<std::pair<size_t, size_t>, 256> by_first_byte_{};
};

}  // namespace headroom::models
