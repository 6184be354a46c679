#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tasks/task.h"

namespace headroom::tasks {

/// `copy`: y_t = x_{t+1}, scored inside second and later occurrences of the pattern, after their first token.
/// `generalized`: y_t = IH_n(x)_t, scored wherever it has a token to look at.
enum class InductionTarget { copy, generalized };

constexpr int64_t probed_layers = 2;  ///< layers whose attention by lag becomes metrics

struct InductionHeadConfig {
  using Made = class InductionHead;
  InductionTarget target = InductionTarget::copy;
  int64_t tokens = 10;             ///< distinct tokens, one-hot
  int64_t length = 128;            ///< T
  int64_t pattern = 5;             ///< length of the repeating pattern
  int64_t repeats = 4;             ///< its occurrences per sequence
  int64_t train_sequences = 8000;  ///< size of the training set, the same every epoch
  int64_t data_seed = 0;           ///< of the training set
  int64_t n = 2;                   ///< generalized: n − 1 tokens are compared
  double lambda = 10;              ///< generalized: W* = λ·I
  int64_t attention_lags = 0;      ///< > 0: measures the lags that heads attend to, up to this one
  bool sees_current = false;       ///< generalized: the softmax runs over v <= t instead of v <= t − 1
};

/// Throws Error naming the field and what is allowed.
void validate(const InductionHeadConfig& config);

/// Induction heads (paper, appendix "Induction Head"): sequences of uniform random tokens that contain a random pattern
/// `repeats` times without overlap. The generalized head (Wang et al., 2025), positions counted from 0:
///
///   IH_n(x)_t = Σ_v π_v x_v,  π = softmax_v(λ·Σ_{j=0}^{n−2} ⟨x_{t−j}, x_{v−1−j}⟩),  v from n − 1 to t − 1 (or to t)
///
/// The paper's upper limit, the end of the sequence, would look ahead. Tokens are one-hot vectors; unscored target rows
/// are zero, others sum to 1. Loss: MSE over scored rows. Metrics: those of RegressionMeter. The training set is
/// finite: each epoch is a permutation of it, drawn from the trial's seed.
class InductionHead : public Task {
 public:
  explicit InductionHead(const InductionHeadConfig& config);

  ModelInterface model_interface() const override;
  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override;
  Batch evaluation(Split split, int64_t sequences) const override;
  Var loss(const Var& output, const Batch& batch) const override;
  std::unique_ptr<Meter> meter() const override;
  std::vector<std::pair<double, double>> predictions(const Tensor& output, const Batch& batch) const override;
  /// With attention_lags and a causal model: head_lag_metrics() of the first two layers, prefixed "layer_1_" and
  /// "layer_2_", and the last layer's "match_share". That is the largest share, over heads, of mean attention given to
  /// an induction head's matches, over scored positions t with a match: places v <= t whose preceding tokens x_{v−1},
  /// x_{v−2}, … equal t's own and those before it (n − 1 of them; copy: 1).
  Metrics probes(const models::Transformer& model, const Batch& batch) const override;
  std::string criterion() const override { return "mse"; }
  std::string describe() const override;

  /// One sequence.
  struct Sequence {
    std::vector<int64_t> tokens;  ///< T of them
    std::vector<int64_t> starts;  ///< where the pattern starts, ascending
  };
  /// Sequence i of a seed's named stream.
  Sequence sequence(uint64_t seed, const std::string& stream, int64_t i) const;
  /// y (T, tokens) in row-major order.
  std::vector<float> target(const Sequence& sequence) const;
  /// The training sequences of an epoch, in order.
  std::vector<int64_t> permutation(uint64_t seed, int64_t epoch) const;

 private:
  double match_share(const models::Transformer& model, const Batch& batch) const;
  Batch batch_of(const std::vector<const Sequence*>& sequences) const;

  InductionHeadConfig config_;
  std::vector<Sequence> train_;
};

/// The metric names of a config.
std::set<std::string> metric_names_of(const InductionHeadConfig& config);

}  // namespace headroom::tasks
