#pragma once
#include "models/checkpoints/model_files.h"
#include "models/write/convert.h"

namespace headroom::models {

/// Compares the model that was written with its source: token ids of a list of strings, logits of a few tokens, which
/// are to be the reference's. Fills logit_error and largest_logit. Throws Error when they are not equal but for
/// rounding.
void check_conversion(const ModelFiles& source, std::unique_ptr<Transformer> reference,
                      const std::filesystem::path& written, Conversion& conversion);

}  // namespace headroom::models
