#pragma once
#include <string>
#include <string_view>

namespace headroom::models {

/// A message about bytes that cannot be read. It says what they are instead of what was wanted, and what to do about it
/// ("is a Git LFS pointer, …"), or what was `wrong` where their kind is not known. GGUF and safetensors are kinds, too:
/// each is often given for the other.
std::string other_kind_or(std::string_view bytes, const std::string& wrong);
/// The same where a text was wanted, such as JSON.
std::string other_than_text_or(std::string_view bytes, const std::string& wrong);

/// How to make weights of PyTorch's into what is read here.
inline constexpr const char* pytorch_remedy =
    "save the model as safetensors, as transformers' save_pretrained() does, and name that folder";

}  // namespace headroom::models
