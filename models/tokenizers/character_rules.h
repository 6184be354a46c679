#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizers/bpe_tokenizer.h"

namespace headroom::models {

/// U+2581, which stands for a space in pieces.
inline constexpr std::string_view space_mark = "\xe2\x96\x81";

/// The byte that a piece like "<0x0A>" stands for.
std::optional<unsigned char> byte_of_piece(std::string_view text);

/// Replaces U+2581 by a space, and adds the Prepend normalizer's space before the text.
std::string with_spaces(const CharacterRules& rules, std::string_view text);

/// Replaces every space by U+2581.
std::string with_marks(std::string text);

/// True if Metaspace puts a space before these words, which `begin` the text or follow an added token.
bool needs_space(const CharacterRules& rules, std::string_view words, bool begin);

/// The ids to merge: each character's own id, else those of its bytes, else the unknown token's.
std::vector<int32_t> character_symbols(const CharacterRules& rules, std::string_view piece);

}  // namespace headroom::models
