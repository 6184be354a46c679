#pragma once
#include <set>
#include <string>
#include <vector>

#include "tasks/kernel.h"
#include "tasks/regression.h"
#include "tasks/theory/allocation.h"

namespace headroom::tasks {

/// The token distribution: `normal` x ~ N(0, I); `unit` x = g/‖g‖ with g ~ N(0, I), as in the paper's bound.
enum class TokenInput { normal, unit };

struct LinearFunctionalConfig {
  using Made = class LinearFunctional;
  KernelConfig kernel{};
  int64_t token_dim = 8;       ///< d
  int64_t length = 16;         ///< T
  int64_t first_position = 0;  ///< loss and metrics cover t ≥ first_position, counted from 0
  TokenInput input = TokenInput::normal;
  int64_t attention_lags = 0;  ///< > 0: measures the lags that heads attend to, up to this one
};

/// Throws Error naming the field and what is allowed.
void validate(const LinearFunctionalConfig& config);

/// y_t = Σ_{s ≥ 1} ρ(s) x_{t−s} for white noise x, with x = 0 before the sequence (paper, §Tradeoff). ρ(s) is a number,
/// times lag_projection() if the kernel has ranks.
class LinearFunctional : public RegressionTask {
 public:
  explicit LinearFunctional(const LinearFunctionalConfig& config);

  ModelInterface model_interface() const override;
  Batch sample(int64_t sequences, engine::Rng& rng, const std::string& stream) const override;
  /// The number of heads that serve each lag, for a causal model: "attention_at_lag_s" for s = 0 .. attention_lags from
  /// attention_by_lag(), and head_lag_metrics(). For heads of one shape also the shares of heads that would have to
  /// change lag to match Corollary 1's split: "peaks_off_plan" and "centres_off_plan". Without attention_lags only the
  /// first, for n-gram targets with n up to 16 below the length.
  Metrics probes(const models::Transformer& model, const Batch& batch) const override;
  /// See write_construction().
  void construct(const models::Transformer& model, Construct what) const override;
  std::string describe() const override;

  Tensor target(const Tensor& x) const override;
  /// ρ(1), ρ(2), … up to the last non-zero value within the length.
  const std::vector<double>& kernel() const { return kernel_; }
  /// The number of token directions each lag needs.
  LagRanks ranks() const { return {config_.token_dim, config_.kernel.ranks}; }

 private:
  LinearFunctionalConfig config_;
  std::vector<double> kernel_;
  /// ρ(s)·P_s, row-major (d, d), for lags of rank below d; empty vectors for the others.
  std::vector<std::vector<float>> maps_;
};

/// The metric names of a config.
std::set<std::string> metric_names_of(const LinearFunctionalConfig& config);

}  // namespace headroom::tasks
