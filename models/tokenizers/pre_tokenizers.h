#pragma once
#include <string>
#include <vector>

#include "models/tokenizers/normalize.h"
#include "models/tokenizers/splitter.h"

namespace headroom::models {

/// A way to cut text before byte-level BPE merges it, by its llama.cpp name in tokenizer.ggml.pre. Of several names,
/// the first is the one we write.
struct PreTokenizer {
  std::vector<const char*> names;
  std::vector<std::string> patterns;                  ///< each cuts the previous one's pieces
  bool whole_words = false;                           ///< a piece that is a token stays whole, whatever the merges
  bool begins = false;                                ///< texts begin with bos if the file does not say
  Normalization normalization = Normalization::none;  ///< applied first; GGUF files cannot say so
};

/// llama.cpp's choice for a file that names none.
inline constexpr const char* default_pre_tokenizer = "default";

/// Null for a name that is not in the table.
const PreTokenizer* pre_tokenizer_named(const std::string& name);

/// The row with these patterns, preferring one with that rule for whole words; null if there is none.
const PreTokenizer* pre_tokenizer_of(const std::vector<Splitter>& splitters, bool whole_words);

}  // namespace headroom::models
