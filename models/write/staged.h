#pragma once
#include <filesystem>
#include <functional>

#include "models/write/convert.h"

namespace headroom::models {

/// Calls write(path, conversion), which writes and compares a model under a temporary name next to `to`; then makes the
/// model card (see ConvertOptions) and gives all files their final names. An Error from `write` names `to` instead of
/// the temporary name and leaves nothing behind.
Conversion staged(const std::filesystem::path& to, const ConvertOptions& options,
                  const std::function<void(const std::filesystem::path&, Conversion&)>& write);

/// Compares a written model with its source: token ids of a list of strings, and logits of a few tokens, which must
/// equal the reference's. Fills logit_error and largest_logit. Throws Error if they differ by more than rounding.
void check_conversion(const ModelFiles& source, std::unique_ptr<Transformer> reference,
                      const std::filesystem::path& written, Conversion& conversion);

}  // namespace headroom::models
