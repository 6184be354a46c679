#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "models/tokenizers/sentencepiece_model.h"
#include "models/tokenizers/tokenizer.h"

namespace headroom::models {

/// A tokenizer of a SentencePiece model, run by libsentencepiece. Control pieces ("<s>") have no text: in a text they
/// are ordinary characters, whatever Specials says, but for models that put no space before a text (Gemma's). decode()
/// gives the text without the space that add_dummy_prefix put before it. `name` is what it is called, `file` what it
/// was read from. Throws Error naming the file when the library refuses the model.
std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const SentencePieceModel& model, const std::string& name,
                                                        const std::filesystem::path& file);

}  // namespace headroom::models
