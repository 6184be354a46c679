#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/tokenizers/tokenizer.h"
#include "models/transformer.h"
#include "tasks/task.h"

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

/// Batches sentences, padding each on the right to the longest with token 0, which the key mask hides: tokens i64 (B,
/// T), classes i64 (B), key_mask bool (B, T).
Batch batch_of(const std::vector<LabelledSentence>& sentences);

/// Trains a classifier (models/checkpoints/model_edit.h) on labelled sentences: cross-entropy over the classes. Each
/// epoch visits all of them in an order that depends only on seed and epoch; its last batch may be smaller.
class SentenceClassification : public Objective {
 public:
  /// Throws Error if there are no sentences.
  explicit SentenceClassification(std::vector<LabelledSentence> sentences);

  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override;
  /// output (B, classes) → scalar.
  Var loss(const Var& output, const Batch& batch) const override;
  /// The indices of a step's sentences.
  std::vector<int64_t> examples(int64_t step, int64_t sequences, uint64_t seed) const;
  int64_t steps_per_epoch(int64_t sequences) const;
  const std::vector<LabelledSentence>& sentences() const { return sentences_; }

 private:
  std::vector<LabelledSentence> sentences_;
};

/// A classifier's predictions, one entry per sentence in order.
struct ClassPredictions {
  std::vector<int64_t> predicted;   ///< the likeliest class
  std::vector<uint8_t> is_correct;  ///< 1 if it is the sentence's class
  std::vector<double> nats;         ///< -ln p of the right class
  double accuracy = 0, cross_entropy = 0;
};

/// Runs the classifier without gradients on `sequences` sentences of similar length at a time. `progress` gets the
/// number done. Throws Error naming a sentence with a non-finite logit.
ClassPredictions predict_classes(const models::Transformer& model, const std::vector<LabelledSentence>& sentences,
                                 int64_t sequences = 16, const std::function<void(int64_t)>& progress = {});

/// Compares two classifiers by the items that only one of them gets right.
struct McNemar {
  int64_t only_first = 0, only_second = 0;
  double p = 1;  ///< two-sided exact test that both are right equally often; 1 if they never differ
};
/// McNemar's exact test (1947; exact form: binomial): of the n items on which the two differ, min(b, c) or fewer fall
/// on one side as often as with n fair coins; p is twice that, at most 1. One entry per item, 1 if right. Throws Error
/// if the numbers of items differ.
McNemar mcnemar(const std::vector<uint8_t>& first, const std::vector<uint8_t>& second);

}  // namespace headroom::tasks
