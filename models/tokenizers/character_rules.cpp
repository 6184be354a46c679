#include "models/tokenizers/character_rules.h"

#include <algorithm>
#include <charconv>

#include "models/files/utf8.h"

namespace headroom::models {
std::optional<unsigned char> byte_of_piece(std::string_view text) {
  unsigned char byte = 0;
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, byte, 16);
  return error == std::errc() && end == text.data() + 5 ? std::optional(byte) : std::nullopt;
}

std::string with_spaces(const CharacterRules& rules, std::string_view text) {
  std::string out = rules.prefix != CharacterRules::Prefix::none && !rules.only_missing ? " " : "";
  for (size_t at = 0; at < text.size();) {
    const size_t found = std::min(text.find(space_mark, at), text.size());
    out += text.substr(at, found - at);
    if (found < text.size()) out += ' ';
    at = found + space_mark.size();
  }
  return out;
}

std::string with_marks(std::string text) {
  for (size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at + 1))
    text.replace(at, 1, space_mark);
  return text;
}

bool needs_space(const CharacterRules& rules, std::string_view words, bool begin) {
  if (!rules.only_missing || words.starts_with(' ')) return false;
  return rules.prefix == CharacterRules::Prefix::every || (rules.prefix == CharacterRules::Prefix::first && begin);
}

std::vector<int32_t> character_symbols(const CharacterRules& rules, std::string_view piece) {
  std::vector<int32_t> ids;
  ids.reserve(piece.size());
  bool after_unknown = false;
  while (!piece.empty()) {
    // A byte that is not UTF-8 is a character of its own.
    const std::string_view character = piece.substr(0, std::max<size_t>(1, first_code_point(piece).bytes));
    piece.remove_prefix(character.size());
    const auto byte_id = [&](char byte) { return rules.bytes[static_cast<unsigned char>(byte)]; };
    const auto found = rules.ids.find(std::string(character));
    const bool in_bytes = std::all_of(character.begin(), character.end(), [&](char c) { return byte_id(c) >= 0; });
    if (found != rules.ids.end()) ids.push_back(found->second);
    else if (in_bytes)
      for (const char byte : character) ids.push_back(byte_id(byte));
    else if (rules.unknown >= 0 && !(after_unknown && rules.fuses_unknown)) ids.push_back(rules.unknown);
    after_unknown = found == rules.ids.end() && !in_bytes;
  }
  return ids;
}

}  // namespace headroom::models
