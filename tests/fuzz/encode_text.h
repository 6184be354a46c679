#pragma once
#include "models/tokenizers/tokenizer.h"

namespace headroom::fuzz {

/// A text with digits, a line's end, two bytes of UTF-8 and a special token, through a tokenizer and back.
inline void encode_text(const models::Tokenizer& tokenizer) {
  for (const auto specials : {models::Specials::plain, models::Specials::tokens})
    (void)tokenizer.decode(tokenizer.encode("the cat, 123\n \xc3\xa9<s>", specials));
}

}  // namespace headroom::fuzz
