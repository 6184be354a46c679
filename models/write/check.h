#pragma once
#include "models/checkpoints/model_files.h"
#include "models/write/convert.h"

namespace headroom::models {

/// Compares a written model with its source: token ids of a list of strings, and logits of a few tokens, which must
/// equal the reference's. Fills logit_error and largest_logit. Throws Error if they differ by more than rounding.
void check_conversion(const ModelFiles& source, std::unique_ptr<Transformer> reference,
                      const std::filesystem::path& written, Conversion& conversion);

}  // namespace headroom::models
