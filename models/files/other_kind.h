#pragma once
#include <string>
#include <string_view>

namespace headroom::models {

/// A message about bytes that cannot be read: says what they are and what to do about it ("is a Git LFS pointer, …"),
/// or repeats `wrong` if their kind is unknown. Recognises GGUF and safetensors too: each is often given for the other.
std::string other_kind_or(std::string_view bytes, const std::string& wrong);
/// The same if text was expected, such as JSON.
std::string other_than_text_or(std::string_view bytes, const std::string& wrong);

/// How to convert PyTorch weights to a format we read.
inline constexpr const char* pytorch_remedy =
    "save the model as safetensors, as transformers' save_pretrained() does, and name that folder";

}  // namespace headroom::models
