#pragma once
#include <string>
#include <vector>

#include "models/tokenizers/normalize.h"
#include "models/tokenizers/splitter.h"

namespace headroom::models {

/// How byte-level BPE cuts a text before it merges, by the names that llama.cpp reads in tokenizer.ggml.pre. The first
/// of several names is the one that is written.
struct PreTokenizer {
  std::vector<const char*> names;
  std::vector<std::string> patterns;                  ///< each cuts the pieces of the one before
  bool whole_words = false;                           ///< a piece that is a token is that token, whatever the merges
  bool begins = false;                                ///< texts begin with bos where the file does not say
  Normalization normalization = Normalization::none;  ///< before that, which a GGUF file cannot say
};

/// llama.cpp's cut of a file that names none.
inline constexpr const char* default_pre_tokenizer = "default";

/// Null for a name that is not in the table.
const PreTokenizer* pre_tokenizer_named(const std::string& name);

/// The row that cuts by these patterns, one with that rule for whole words if there is one; null where no row does.
const PreTokenizer* pre_tokenizer_of(const std::vector<Splitter>& splitters, bool whole_words);

}  // namespace headroom::models
