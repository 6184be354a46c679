#pragma once
#include "models/gguf/metadata.h"
#include "models/tokenizers/tokenizer.h"

namespace headroom::models {

/// The tokenizer that a GGUF file carries (tokenizer.ggml.*): byte-level BPE ("gpt2") cut by the pattern that
/// tokenizer.ggml.pre names, or SentencePiece ("llama"). `name` is what it is called, `file` what holds it. Throws
/// Error naming the key that is missing or wrong, and a kind or pattern that we lack.
std::unique_ptr<Tokenizer> make_gguf_tokenizer(const GgufMetadata& metadata, const std::string& name,
                                               const std::filesystem::path& file);

}  // namespace headroom::models
