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

struct MaskedConfig {
  using Made = class Masked;
  CorpusConfig corpus{};
  int64_t length = 64;            ///< T
  double masked = 0.15;           ///< share of tokens to predict
  double replaced_by_mask = 0.8;  ///< share of those replaced by [MASK]
  double replaced_by_any = 0.1;   ///< share of those replaced by a uniformly drawn token. The rest stay
};

/// Throw Error naming the field and what is allowed.
void validate(const NextTokenConfig& config);
void validate(const MaskedConfig& config);

/// A task on windows of the config's `corpus`, `length` tokens long. Loss: cross-entropy over the targets that are not
/// ignored.
template <class Config>
class CorpusTask : public Task {
 public:
  CorpusTask(const Config& config, const DataRoots& roots)
      : config_(valid(config)), corpus_(config.corpus, roots, config.length) {}

  Var loss(const Var& output, const Batch& batch) const override;
  std::string criterion() const override { return "cross_entropy"; }
  std::map<std::string, std::string> data_hashes() const override { return corpus_.hashes(); }
  const Corpus& corpus() const { return corpus_; }

 protected:
  Config config_;
  Corpus corpus_;

 private:
  static const Config& valid(const Config& config) {
    validate(config);
    return config;
  }
};

/// Language modelling: the target of position t is token t + 1. Training takes windows anywhere in the training split;
/// evaluation takes evenly spaced, non-overlapping windows of a split. With a Markov source of order k, no loss or
/// metric includes the first k − 1 positions: they do not see the k symbols that decide the next, so the others' floor
/// is exactly the entropy rate. Metrics: cross_entropy (nats per token), perplexity, accuracy, bits_per_char; excess
/// (over a Markov source's rate).
class NextToken : public CorpusTask<NextTokenConfig> {
 public:
  using CorpusTask::CorpusTask;
  ModelInterface model_interface() const override;
  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override;
  Batch evaluation(Split split, int64_t sequences) const override;
  std::unique_ptr<Meter> meter() const override;
  std::string describe() const override;

 private:
  Batch batch(TokenSpan tokens, const std::vector<int64_t>& starts) const;
};

/// Masked language modelling (Devlin et al., 2019): each token is chosen with probability `masked`; the input hides it
/// and the target is that token, ignore_index elsewhere. [MASK] is the last id, one past the text's own. Training masks
/// come from the stream "mask", evaluation masks from evaluation_seed.
/// Metrics over chosen positions: cross_entropy (nats per token), perplexity, masked_accuracy.
class Masked : public CorpusTask<MaskedConfig> {
 public:
  using CorpusTask::CorpusTask;
  ModelInterface model_interface() const override;
  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override;
  Batch evaluation(Split split, int64_t sequences) const override;
  std::unique_ptr<Meter> meter() const override;
  std::string describe() const override;
  int64_t mask_id() const { return corpus_.vocab(); }

 private:
  Batch masked(const Tensor& tokens, const engine::RngKey& key) const;
};

/// The metric names of a config.
std::set<std::string> metric_names_of(const NextTokenConfig& config);
std::set<std::string> metric_names_of(const MaskedConfig& config);

}  // namespace headroom::tasks
