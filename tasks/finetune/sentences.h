#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/tokenizers/tokenizer.h"

namespace headroom::tasks {

/// A tokenised sentence and its class, from 0.
struct LabelledSentence {
  std::vector<int32_t> tokens;
  int64_t label = 0;
};

/// How to read a labelled table, such as GLUE's SST-2.
struct SentenceTable {
  std::string text;                    ///< the column of sentences; "": the only one besides the labels
  std::string label = "label";         ///< the column of class numbers
  int64_t classes = 0;                 ///< labels must be below it; 0: the largest label + 1, and at least 2
  std::optional<int32_t> bos{};        ///< put before every sentence
  int64_t longest = int64_t{1} << 30;  ///< tokens
};

struct LabelledSentences {
  std::vector<LabelledSentence> items;  ///< in table order
  int64_t classes = 2;
};

/// Reads a tab-separated table whose first line names the columns. Throws Error naming file and line: a missing column,
/// a label that is not a class number, a sentence without a token or with more than `longest`.
LabelledSentences read_sentences(const std::filesystem::path& path, const SentenceTable& table,
                                 const models::Tokenizer& tokenizer);

/// Draws `count` of the items without repetition by the seed, in their original order; all if there are no more.
std::vector<LabelledSentence> sample_sentences(const std::vector<LabelledSentence>& items, int64_t count,
                                               uint64_t seed);

}  // namespace headroom::tasks
