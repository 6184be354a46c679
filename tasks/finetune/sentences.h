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

/// How a labelled table, such as GLUE's SST-2, is read.
struct SentenceTable {
  std::string text;                    ///< the column of the sentences; "": the only one besides the label's
  std::string label = "label";         ///< the column of the class numbers
  int64_t classes = 0;                 ///< labels are below it; 0: one more than the largest label, and at least 2
  std::optional<int32_t> bos{};        ///< stands before every sentence
  int64_t longest = int64_t{1} << 30;  ///< tokens
};

struct LabelledSentences {
  std::vector<LabelledSentence> items;  ///< in the order of the table
  int64_t classes = 2;
};

/// The rows of a table with tabs between its columns and their names in the first line. Throws Error naming file and
/// line: a missing column, a label that is not a class number, a sentence without a token or with more than
/// `longest`.
LabelledSentences read_sentences(const std::filesystem::path& path, const SentenceTable& table,
                                 const models::Tokenizer& tokenizer);

/// `count` of the items, drawn without repetition by the seed and left in their order; all of them where there are no
/// more.
std::vector<LabelledSentence> sample_sentences(const std::vector<LabelledSentence>& items, int64_t count,
                                               uint64_t seed);

}  // namespace headroom::tasks
