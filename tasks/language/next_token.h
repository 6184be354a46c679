#pragma once
#include <memory>
#include <set>
#include <string>

#include "tasks/language/corpus.h"
#include "tasks/task.h"

namespace headroom::tasks {

struct NextTokenConfig {
  using Made = class NextToken;
  CorpusConfig corpus{};
  int64_t length = 64;  ///< T, the context
};

/// Throws Error naming the field and what is allowed.
void validate(const NextTokenConfig& config);

/// Language modelling: the target of position t is token t + 1. Training takes windows anywhere in the training split;
/// evaluation takes evenly spaced, non-overlapping windows of a split. Loss: cross-entropy over all positions. With a
/// Markov source of order k, no loss or metric includes the first k − 1 positions: they do not see the k symbols that
/// decide the next, so the others' floor is exactly the entropy rate. Metrics: cross_entropy (nats per token),
/// perplexity, accuracy, bits_per_char; excess (over a Markov source's rate).
class NextToken : public Task {
 public:
  NextToken(const NextTokenConfig& config, const DataRoots& roots);

  ModelInterface model_interface() const override;
  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override;
  Batch evaluation(Split split, int64_t sequences) const override;
  Var loss(const Var& output, const Batch& batch) const override;
  std::unique_ptr<Meter> meter() const override;
  std::string criterion() const override { return "cross_entropy"; }
  std::map<std::string, std::string> data_hashes() const override { return corpus_.hashes(); }
  std::string describe() const override;
  const Corpus& corpus() const { return corpus_; }

 private:
  Batch batch(TokenSpan tokens, const std::vector<int64_t>& starts) const;

  NextTokenConfig config_;
  Corpus corpus_;
};

/// The metric names of a config.
std::set<std::string> metric_names_of(const NextTokenConfig& config);

}  // namespace headroom::tasks
