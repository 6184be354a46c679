#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/checkpoints/description.h"
#include "models/tokenizers/tokenizer.h"

namespace headroom::tasks {

/// The ids of a text file, unchanged and without added tokens. Throws Error naming the file if it cannot be read, is
/// empty or is not UTF-8.
std::vector<int32_t> tokens_of_file(const std::filesystem::path& path, const models::Tokenizer& tokenizer);

/// How a model's texts become tokens; every measurement on a text reports it.
struct TextCut {
  std::string splitter;          ///< the tokenizer's splitter
  std::optional<int64_t> begin;  ///< the token before a text
  std::string begin_text;
  /// "cut as llama-bpe, behind <s> (1)".
  std::string words() const;
};
TextCut text_cut(const models::ModelDescription& model, const models::Tokenizer& tokenizer);

/// A note if a whole text begins twice, because it contains the beginning token and the tokenizer adds one too; else
/// "".
std::string begins_twice(const models::ModelDescription& model, const std::vector<int32_t>& ids);

}  // namespace headroom::tasks
