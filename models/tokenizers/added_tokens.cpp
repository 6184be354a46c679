#include "models/tokenizers/added_tokens.h"

#include <algorithm>
#include <cstddef>

namespace headroom::models {
namespace {

unsigned char byte_at(std::string_view text, size_t at) { return static_cast<unsigned char>(text[at]); }

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) {
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.text < b.text; });
  for (AddedToken& token : tokens) {
    // A later token of the same text is found only where special ones are not, and the others are all special.
    const bool is_hidden =
        !tokens_.empty() && tokens_.back().text == token.text && (token.special || !tokens_.back().special);
    if (token.text.empty() || is_hidden) continue;
    auto& [first, last] = by_first_byte_[byte_at(token.text, 0)];
    if (first == last) first = tokens_.size();
    tokens_.push_back(std::move(token));
    last = tokens_.size();
  }
}

const AddedToken* AddedTokens::longest(std::string_view all, size_t at, const Specials& specials) const {
  const std::string_view text = all.substr(at);
  const auto& [first, last] = by_first_byte_[byte_at(text, 0)];
  auto low = tokens_.begin() + static_cast<std::ptrdiff_t>(first),
       high = tokens_.begin() + static_cast<std::ptrdiff_t>(last);
  const AddedToken* found = nullptr;
  for (size_t shared = 1; low != high; ++shared) {  // bytes that the tokens from low to high have in common with text
    for (const AddedToken* same = nullptr; low != high && low->text.size() == shared; ++low)
      if (same == nullptr && (!low->special || specials.allowed(at, at + shared))) found = same = &*low;
    if (shared == text.size()) break;
    const unsigned char next = byte_at(text, shared);
    low = std::partition_point(low, high, [&](const AddedToken& t) { return byte_at(t.text, shared) < next; });
    high = std::partition_point(low, high, [&](const AddedToken& t) { return byte_at(t.text, shared) == next; });
  }
  return found;
}

AddedTokens::Found AddedTokens::find(std::string_view text, size_t from, const Specials& specials) const {
  for (size_t at = from; at < text.size() && !tokens_.empty(); ++at)
    if (const AddedToken* token = longest(text, at, specials)) return {at, token};
  return {text.size(), nullptr};
}

void AddedTokens::encode(std::string_view text, const Specials& specials, std::vector<int32_t>& ids,
                         const std::function<void(size_t, size_t)>& ordinary) const {
  for (size_t at = 0; at < text.size();) {
    const Found next = find(text, at, specials);
    ordinary(at, next.at);
    at = next.at;
    if (next.token == nullptr) break;
    ids.push_back(next.token->id);
    at += next.token->text.size();
  }
}

}  // namespace headroom::models
