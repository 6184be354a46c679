#pragma once
#include <memory>

#include "models/tokenizers/vocabulary.h"

namespace headroom::models {

/// Makes a tokenizer that runs a SentencePiece model with libsentencepiece; it matches control pieces ("<s>") and added
/// tokens first. decode() drops the space that add_dummy_prefix put before the text. Throws Error naming the file if
/// the library refuses the model, and for an added token beyond max_token_id.
std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const SentencePieceVocabulary& vocabulary);

}  // namespace headroom::models
