#pragma once
#include <memory>
#include <string>

#include "models/tokenizers/tokenizer.h"

namespace headroom::models {

/// The tokenizer of that name, file or folder:
///   byte                           one id per byte (./byte for a file of that name)
///   vocab.json with merges.txt     GPT-2's byte-level BPE
///   tokenizer.model                SentencePiece's model, or Llama 3's ranks, one "base64 rank" a line
///   FILE.gguf                      what the file of a model carries
///   tokenizer.json                 Hugging Face's BPE: byte-level, or with byte fallback as SentencePiece's models
/// Searches a folder for tokenizer.json, then vocab.json, then tokenizer.model; of a pair you may name either file.
/// Throws Error naming the file and its fault, and for unsupported kinds (WordPiece).
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path);

}  // namespace headroom::models
