#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "models/safetensors/safetensors.h"

namespace headroom::tasks {

/// Writes trained weights to a safetensors file that appears whole or not at all, with `metadata` and a SHA-256 over
/// both. Returns that checksum. Throws Error naming the file and the file system's error.
std::string save_weights(const std::filesystem::path& path, const models::NamedTensors& tensors,
                         std::map<std::string, std::string> metadata);

/// Verifies a file of save_weights() and returns its checksum; "" for a file without one, from another program or an
/// older version. Throws Error naming the file, and its trial if known, if it was changed.
std::string check_weights(const models::SafetensorsFile& file);

}  // namespace headroom::tasks
