#pragma once
#include <string>
#include <vector>

#include "models/gguf/gguf.h"
#include "models/write/tensors.h"

namespace headroom::models {

/// A GGUF file's keys and values for this model, including its tokenizer. Keeps a GGUF source's own keys. Adds
/// omissions to `notes`. Throws Error naming anything about the model that such a file cannot express.
GgufPairs gguf_metadata(const ModelFiles& source, const std::vector<TensorMove>& moves, std::optional<WeightType> type,
                        std::vector<std::string>& notes);

/// Adds a folder's tokenizer to a GGUF file's keys: tokens, their types, merges or scores, special ids, chat template;
/// without a tokenizer, only the special ids. Rows of the embedding without a token get one of type "unused". Adds
/// omissions to `notes`. Throws Error naming anything that a GGUF file cannot express.
void add_tokenizer(const ModelFiles& source, GgufPairs& pairs, std::vector<std::string>& notes);

/// A GGUF file's tensors besides the weights: divisors of Llama 3.1's and longrope's rotary frequencies.
StoredTensors gguf_extras(const ModelFiles& source);

}  // namespace headroom::models
