#pragma once
#include <filesystem>

namespace headroom::models {

/// Throws Error that says what a folder without config.json is and what to name instead: a GGUF file in it, a snapshot
/// in the Hugging Face hub's cache, an adapter's base model.
[[noreturn]] void complain_of_folder(const std::filesystem::path& folder);

/// Throws Error that names the form of a folder's weights if it has config.json, but neither model.safetensors nor an
/// index.
[[noreturn]] void complain_of_weights(const std::filesystem::path& folder);

/// Throws Error for a path that does not exist; it may be a URL or a name on the Hugging Face hub.
[[noreturn]] void complain_of_missing(const std::filesystem::path& path);

/// Throws Error for a lone safetensors file: it holds weights but does not describe the model.
[[noreturn]] void complain_of_weights_alone(const std::filesystem::path& file);

}  // namespace headroom::models
