#pragma once
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tasks/kernel.h"
#include "tasks/sampled_task.h"
#include "tasks/theory/allocation.h"

namespace headroom::tasks {

/// How a token is drawn: `normal` x ~ N(0, I); `unit` x = g/‖g‖ with g ~ N(0, I), what the paper's bound speaks of.
enum class TokenInput { normal, unit };

struct LinearFunctionalConfig {
  using Made = class LinearFunctional;
  KernelConfig kernel{};
  int64_t token_dim = 8;       ///< d
  int64_t length = 16;         ///< T
  int64_t first_position = 0;  ///< loss and metrics over t ≥ first_position, counted from 0
  TokenInput input = TokenInput::normal;
  int64_t attention_lags = 0;  ///< > 0: which lags the heads attend to is measured up to this one
};

/// Throws Error naming the field and what is allowed.
void validate(const LinearFunctionalConfig& config);

/// y_t = Σ_{s ≥ 1} ρ(s) x_{t−s}, ρ(s) a number or, where the kernel has ranks, that number times lag_projection(); x =
/// 0 before the sequence: sequences of white noise (paper, §Tradeoff). Loss: MSE over t ≥ first_position. Metrics
/// there: those of RegressionMeter.
class LinearFunctional : public SampledTask {
 public:
  explicit LinearFunctional(const LinearFunctionalConfig& config);

  ModelInterface model_interface() const override;
  Batch sample(int64_t sequences, engine::Rng& rng, const std::string& stream) const override;
  Var loss(const Var& output, const Batch& batch) const override;
  std::unique_ptr<Meter> meter() const override;
  std::vector<std::pair<double, double>> predictions(const Tensor& output, const Batch& batch) const override;
  /// How many heads serve each lag, of a causal model: "attention_at_lag_s" for s = 0 .. attention_lags as
  /// attention_by_lag() has them, what head_lag_metrics() adds, and for heads of one shape how far both are from
  /// Corollary 1's split of that many heads over the lags, as shares of the heads that would have to change their lag:
  /// "peaks_off_plan" and "centres_off_plan". Without attention_lags the first of these alone, for n-gram targets with
  /// n up to 16 below the length.
  Metrics probes(const models::Transformer& model, const Batch& batch) const override;
  /// See write_construction().
  void construct(const models::Transformer& model, Construct what) const override;
  std::string criterion() const override { return "mse"; }
  std::string describe() const override;

  /// The target of given tokens: x (B, T, d) → y (B, T, d), f32.
  Tensor target(const Tensor& x) const;
  /// ρ(1), ρ(2), … as far as it is not zero within the length.
  const std::vector<double>& kernel() const { return kernel_; }
  /// How many directions of a token each lag needs.
  LagRanks ranks() const { return {config_.token_dim, config_.kernel.ranks}; }

 private:
  LinearFunctionalConfig config_;
  std::vector<double> kernel_;
  /// ρ(s)·P_s, row-major (d, d), of the lags that have a rank below d; empty vectors for the others.
  std::vector<std::vector<float>> maps_;
};

/// The names of its metrics for a config.
std::set<std::string> metric_names_of(const LinearFunctionalConfig& config);

}  // namespace headroom::tasks
