#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tasks/regression.h"
#include "tasks/theory/volterra_bound.h"

namespace headroom::tasks {

/// x ~ N(0, I); or every number ±1 with equal odds: bounded by B = √d, independent, with identity covariance, as the
/// paper's theorem requires.
enum class VolterraInput { normal, rademacher };

/// The part that multiplies. `model`: the readout is ŷ, so the feed-forward network must. `exact`: the readout is a
/// token x̂_{t−τ} per lag of the terms, in order of the lags, and ŷ is built from their products, so that ε_FFN = 0.
enum class Products { model, exact };

struct VolterraConfig {
  using Made = class Volterra;
  std::vector<VolterraTerm> terms{};
  int64_t token_dim = 4;       ///< d
  int64_t length = 16;         ///< T
  int64_t first_position = 0;  ///< loss and metrics over t >= first_position, counted from 0
  VolterraInput input = VolterraInput::normal;
  Products products = Products::model;
};

/// e^{−(a+b)/2} for all 0 <= a, b <= last: H⁽²⁾(a, b)(x ⊗ z) = e^{−(a+b)/2} x∘z, of norm e^{−(a+b)/2}.
std::vector<VolterraTerm> exponential_terms(int64_t last);

/// Throws Error naming the field and what is allowed.
void validate(const VolterraConfig& config);

/// The paper's bound for this task's heads: B = √d and the largest product √d for ±1 tokens; B = 1 and product 1 for
/// normal ones, which are unbounded.
VolterraBoundConfig bound_config(const VolterraConfig& config);

/// A second-order Volterra target (paper, appendix "Continuous Time-homogeneous System"):
///   y_t = Σ_terms h·x_{t−a} ∘ x_{t−b},   x = 0 before the sequence.
/// The bound applies to the metric "error_l2".
class Volterra : public RegressionTask {
 public:
  explicit Volterra(const VolterraConfig& config);

  ModelInterface model_interface() const override;
  Batch sample(int64_t sequences, engine::Rng& rng, const std::string& stream) const override;
  std::string describe() const override;

  /// x (B, T, d) → y (B, T, d), f32.
  Tensor target(const Tensor& x) const override;
  Var prediction(const Var& output) const override;
  /// The distinct lags of the terms, in order.
  const std::vector<int64_t>& lags() const { return lags_; }

 private:
  VolterraConfig config_;
  std::vector<int64_t> lags_;
};

/// The names of a config's metrics.
inline std::set<std::string> metric_names_of(const VolterraConfig&) { return regression_metrics(); }

}  // namespace headroom::tasks
