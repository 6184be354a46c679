#pragma once
#include <string>
#include <vector>

#include "models/checkpoints/model_files.h"
#include "models/gguf/gguf.h"

namespace headroom::models {

/// Adds a folder's tokenizer to a GGUF file's keys: tokens, their types, merges or scores, special ids, chat template;
/// without a tokenizer, only the special ids. Rows of the embedding without a token get one of type "unused". Adds
/// omissions to `notes`. Throws Error naming anything that a GGUF file cannot express.
void add_tokenizer(const ModelFiles& source, GgufPairs& pairs, std::vector<std::string>& notes);

}  // namespace headroom::models
