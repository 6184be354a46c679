#pragma once
#include <string>
#include <string_view>

namespace headroom::models {

/// What a file is in the place of the one that was wanted, by its bytes, and what to do about it: "is a Git LFS
/// pointer, …"; "" where it is of no kind that is known here. GGUF and safetensors are kinds, too: each is often given
/// for the other.
std::string other_kind(std::string_view bytes);

/// A message about bytes that cannot be read: of what kind they are, else what was `wrong` with them.
std::string other_kind_or(std::string_view bytes, const std::string& wrong);
/// The same where a text was wanted, such as JSON.
std::string other_than_text_or(std::string_view bytes, const std::string& wrong);

/// How to make weights of PyTorch's into what is read here.
inline constexpr const char* pytorch_remedy =
    "save the model as safetensors, as transformers' save_pretrained() does, and name that folder";

}  // namespace headroom::models
