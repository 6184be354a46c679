#pragma once
#include <filesystem>
#include <string>

namespace headroom::tasks {

/// SHA-256 of what a trained model computes with: of a GGUF file its bytes, of one in parts the hashes of all; of a folder those of config.json and
/// the safetensors files, in the order of their names. Throws Error naming the file that cannot be read.
std::string sha256_of_model(const std::filesystem::path& model);

}  // namespace headroom::tasks
