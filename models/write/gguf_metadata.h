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

/// A GGUF file's tensors besides the weights: divisors of Llama 3.1's and longrope's rotary frequencies.
StoredTensors gguf_extras(const ModelFiles& source);

}  // namespace headroom::models
