#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "models/safetensors/safetensors.h"

namespace headroom::tasks {

/// Writes trained weights as safetensors that appear whole or not at all, with `metadata` and a SHA-256 over both.
/// Returns that checksum. Throws Error naming the file and what the file system refused.
std::string save_weights(const std::filesystem::path& path, const models::NamedTensors& tensors,
                         std::map<std::string, std::string> metadata);

/// The checksum of a file of save_weights(), after all of it was read and compared; "" for a file without one, of
/// another program or an older version. Throws Error naming the file, and its trial where it says one, when it was
/// changed.
std::string check_weights(const models::SafetensorsFile& file);

}  // namespace headroom::tasks
