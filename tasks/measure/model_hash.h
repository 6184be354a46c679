#pragma once
#include <filesystem>
#include <string>

namespace headroom::tasks {

/// SHA-256 of the files a trained model computes with: a GGUF file's bytes (all parts' hashes if split), or a folder's
/// config.json and safetensors files, in order of name. Throws Error naming a file that cannot be read.
std::string sha256_of_model(const std::filesystem::path& model);

}  // namespace headroom::tasks
