#pragma once
#include <filesystem>
#include <functional>

#include "models/write/convert.h"

namespace headroom::models {

/// Calls write(path, conversion), which writes a model under a temporary name beside `to` and compares it; then the
/// model card is made (see ConvertOptions), and all takes its final names. An Error of `write` tells of `to` in place
/// of the temporary name, and leaves nothing behind.
Conversion staged(const std::filesystem::path& to, const ConvertOptions& options,
                  const std::function<void(const std::filesystem::path&, Conversion&)>& write);

}  // namespace headroom::models
