#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/checkpoints/description.h"
#include "models/tokenizers/tokenizer.h"

namespace headroom::tasks {

/// The ids of a text file, which is taken as it is. No token is added. Throws Error naming the file when it cannot be
/// read, is empty or is not UTF-8.
std::vector<int32_t> tokens_of_file(const std::filesystem::path& path, const models::Tokenizer& tokenizer);

/// How a model's texts become tokens: what every measurement on a text says of it.
struct TextCut {
  std::string splitter;          ///< how the tokenizer cuts them
  std::optional<int64_t> begin;  ///< the token before a text
  std::string begin_text;
  /// "cut as llama-bpe, behind <s> (1)".
  std::string words() const;
};
TextCut text_cut(const models::ModelDescription& model, const models::Tokenizer& tokenizer);

/// A note where the ids of a whole text begin twice: the text names the beginning token, which the tokenizer puts as
/// well; else "".
std::string begins_twice(const models::ModelDescription& model, const std::vector<int32_t>& ids);

}  // namespace headroom::tasks
