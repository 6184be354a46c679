#pragma once
#include <string>
#include <vector>

#include "models/checkpoints/model_files.h"
#include "models/gguf/gguf.h"

namespace headroom::models {

/// Adds the keys of a folder's tokenizer to a GGUF file's: tokens, their types, merges or scores, special ids, chat
/// template; the special ids alone where there is no tokenizer. Rows of the embedding without a token get one of type
/// "unused". `notes` gets what is left out. Throws Error naming what of the tokenizer a GGUF file cannot say.
void add_tokenizer(const ModelFiles& source, GgufPairs& pairs, std::vector<std::string>& notes);

}  // namespace headroom::models
