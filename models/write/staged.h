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

}  // namespace headroom::models
