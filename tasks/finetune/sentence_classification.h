#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "models/transformer.h"
#include "tasks/finetune/sentences.h"
#include "tasks/task.h"

namespace headroom::tasks {

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
