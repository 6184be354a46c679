#include "models/tokenizers/added_tokens.h"

#include <algorithm>
#include <utility>

namespace headroom::models {

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.text.size() > b.text.size(); });
  for (size_t i = 0; i < tokens_.size(); ++i)
    if (!tokens_[i].text.empty()) by_first_byte_[static_cast<unsigned char>(tokens_[i].text[0])].push_back(i);
}

AddedTokens::Found AddedTokens::find(std::string_view text, size_t from, bool with_specials) const {
  for (size_t at = from; at < text.size() && !tokens_.empty(); ++at) {
    for (const size_t i : by_first_byte_[static_cast<unsigned char>(text[at])]) {
      const AddedToken& token = tokens_[i];
      if ((with_specials || !token.special) && text.compare(at, token.text.size(), token.text) == 0)
        return {at, &token};
    }
  }
  return {text.size(), nullptr};
}

}  // namespace headroom::models
