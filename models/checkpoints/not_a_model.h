#pragma once
#include <filesystem>

namespace headroom::models {

/// Throws Error that says what a folder without config.json is, and what to name in its place: a GGUF file in it, a
/// snapshot of the Hugging Face hub's cache, an adapter's base model.
[[noreturn]] void complain_of_folder(const std::filesystem::path& folder);

/// Throws Error that says in what other form a folder with config.json has its weights: neither model.safetensors nor
/// an index is there.
[[noreturn]] void complain_of_weights(const std::filesystem::path& folder);

/// Throws Error for a path that does not exist, which may be an address or a name on the Hugging Face hub.
[[noreturn]] void complain_of_missing(const std::filesystem::path& path);

/// Throws Error for a safetensors file, which holds numbers and says nothing of the model.
[[noreturn]] void complain_of_weights_alone(const std::filesystem::path& file);

}  // namespace headroom::models
