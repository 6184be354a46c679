#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tasks/kernel.h"
#include "tasks/sampled_task.h"

namespace headroom::tasks {

/// How a token is drawn: `normal` x ~ N(0, I); `unit` x = g/‖g‖ with g ~ N(0, I), what the paper's bound speaks of.
enum class TokenInput { normal, unit };

constexpr int64_t most_attention_lags = 16;  ///< that a model's attention is measured at

struct LinearFunctionalConfig {
  KernelConfig kernel{};
  int64_t token_dim = 8;       ///< d
  int64_t length = 16;         ///< T
  int64_t first_position = 0;  ///< loss and metrics over t ≥ first_position, counted from 0
  TokenInput input = TokenInput::normal;
};

/// Throws Error naming the field and what is allowed.
void validate(const LinearFunctionalConfig& config);

/// y_t = Σ_{s ≥ 1} ρ(s) x_{t−s}, with x = 0 before the sequence: sequences of white noise (paper, §Tradeoff).
/// Loss: MSE over t ≥ first_position. Metrics there: those of RegressionMeter.
class LinearFunctional : public SampledTask {
 public:
  explicit LinearFunctional(const LinearFunctionalConfig& config);

  ModelInterface model_interface() const override;
  Batch sample(int64_t sequences, engine::Rng& rng, const std::string& stream) const override;
  Var loss(const Var& output, const Batch& batch) const override;
  std::unique_ptr<Meter> meter() const override;
  std::vector<std::pair<double, double>> predictions(const Tensor& output, const Batch& batch) const override;
  /// How many heads serve each lag: for a causal model of an n-gram target with n up to 16, "attention_at_lag_s" for
  /// s = 0 .. n as attention_by_lag() has them. None for other kernels, nor where the sequences are not longer than n.
  Metrics probes(const models::Transformer& model, const Batch& batch) const override;
  std::string criterion() const override { return "mse"; }
  std::string describe() const override;

  /// The target of given tokens: x (B, T, d) → y (B, T, d), f32.
  Tensor target(const Tensor& x) const;
  /// ρ(1), ρ(2), … as far as it is not zero within the length.
  const std::vector<double>& kernel() const { return kernel_; }

 private:
  LinearFunctionalConfig config_;
  std::vector<double> kernel_;
};

}  // namespace headroom::tasks
