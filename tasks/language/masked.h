#pragma once
#include <memory>
#include <set>
#include <string>

#include "tasks/language/corpus.h"
#include "tasks/task.h"

namespace headroom::tasks {

struct MaskedConfig {
  using Made = class Masked;
  CorpusConfig corpus{};
  int64_t length = 64;            ///< T
  double masked = 0.15;           ///< share of tokens to predict
  double replaced_by_mask = 0.8;  ///< share of those replaced by [MASK]
  double replaced_by_any = 0.1;   ///< share of those replaced by a uniformly drawn token. The rest stay
};

/// Throws Error naming the field and what is allowed.
void validate(const MaskedConfig& config);

/// Masked language modelling (Devlin et al., 2019): each token is chosen with probability `masked`; the input hides it
/// and the target is that token, ignore_index elsewhere. [MASK] is the last id, one past the text's own. Training masks
/// come from the stream "mask", evaluation masks from evaluation_seed.
/// Metrics over chosen positions: cross_entropy (nats per token), perplexity, masked_accuracy.
class Masked : public Task {
 public:
  Masked(const MaskedConfig& config, const DataRoots& roots);

  ModelInterface model_interface() const override;
  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override;
  Batch evaluation(Split split, int64_t sequences) const override;
  Var loss(const Var& output, const Batch& batch) const override;
  std::unique_ptr<Meter> meter() const override;
  std::string criterion() const override { return "cross_entropy"; }
  std::map<std::string, std::string> data_hashes() const override { return corpus_.hashes(); }
  std::string describe() const override;
  int64_t mask_id() const { return corpus_.vocab(); }
  const Corpus& corpus() const { return corpus_; }

 private:
  Batch masked(const Tensor& tokens, const engine::RngKey& key) const;

  MaskedConfig config_;
  Corpus corpus_;
};

/// The metric names of a config.
std::set<std::string> metric_names_of(const MaskedConfig& config);

}  // namespace headroom::tasks
