#pragma once
#include <memory>

#include "models/tokenizers/vocabulary.h"

namespace headroom::models {

/// A tokenizer of a SentencePiece model, run by libsentencepiece; its control pieces ("<s>") and added tokens are found
/// in a text first. decode() gives the text without the space that add_dummy_prefix put before it. Throws Error naming
/// the file when the library refuses the model, and for an added token beyond max_token_id.
std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const SentencePieceVocabulary& vocabulary);

}  // namespace headroom::models
