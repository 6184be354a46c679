#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "models/transformer.h"
#include "tasks/finetune/sentences.h"
#include "tasks/task.h"

namespace headroom::tasks {

/// Sentences side by side, each filled up on the right to the longest with token 0, which the key mask hides: tokens
/// i64 (B, T), classes i64 (B), key_mask bool (B, T).
Batch batch_of(const std::vector<LabelledSentence>& sentences);

/// Trains a classifier (models/checkpoints/classifier.h) on labelled sentences: cross-entropy over the classes. Each
/// epoch goes through all of them in an order that is a function of seed and epoch alone, its last batch has what is
/// left.
class SentenceClassification : public Objective {
 public:
  /// Throws Error when there are no sentences.
  explicit SentenceClassification(std::vector<LabelledSentence> sentences);

  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override;
  /// output (B, classes) → scalar.
  Var loss(const Var& output, const Batch& batch) const override;
  /// Which sentences a step trains on, by their number.
  std::vector<int64_t> examples(int64_t step, int64_t sequences, uint64_t seed) const;
  int64_t steps_per_epoch(int64_t sequences) const;
  const std::vector<LabelledSentence>& sentences() const { return sentences_; }

 private:
  std::vector<LabelledSentence> sentences_;
};

/// What a classifier says of sentences, one entry for each of them in their order.
struct ClassPredictions {
  std::vector<int64_t> predicted;   ///< the likeliest class
  std::vector<uint8_t> is_correct;  ///< 1 where it is the sentence's
  std::vector<double> nats;         ///< -ln p of the right class
  double accuracy = 0, cross_entropy = 0;
};

/// Runs the classifier without gradients, `sequences` sentences of about the same length at a time. `progress` gets the
/// number of those done. Throws Error naming the sentence whose logit is not finite.
ClassPredictions predict_classes(const models::Transformer& model, const std::vector<LabelledSentence>& sentences,
                                 int64_t sequences = 16, const std::function<void(int64_t)>& progress = {});

}  // namespace headroom::tasks
