#include "engine/error.h"
#include "models/tokenizers/vocabulary.h"

namespace headroom::models {

std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const SentencePieceVocabulary& vocabulary) {
  fail("{}: a SentencePiece model, and headroom was built without SentencePiece: install it and configure again",
       vocabulary.file.string());
}

}  // namespace headroom::models
