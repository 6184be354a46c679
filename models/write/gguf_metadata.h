#pragma once
#include <string>
#include <vector>

#include "models/gguf/gguf.h"
#include "models/write/tensors.h"

namespace headroom::models {

/// The keys and values of a GGUF file of this model, its tokenizer among them. A GGUF source's own keys are kept as
/// they are. `notes` gets what is left out. Throws Error naming what of the model such a file cannot say.
GgufPairs gguf_metadata(const ModelFiles& source, const std::vector<TensorMove>& moves, std::optional<WeightType> type,
                        std::vector<std::string>& notes);

/// Tensors that a GGUF file holds beside the weights: the divisors of Llama 3.1's and longrope's rotary frequencies.
StoredTensors gguf_extras(const ModelFiles& source);

}  // namespace headroom::models
