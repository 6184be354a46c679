#pragma once
#include <set>
#include <string>

#include "tasks/measurement.h"

namespace headroom::tasks {

/// One point of Lemma E.1: `terms` exponentials to approximate δ at `lag`.
struct ExponentialSumConfig {
  using Made = class ExponentialSumMeasurement;
  /// `any`: the best rates there are. `linear`, `geometric`: fixed ones, best amplitudes. `cited`: what the lemma's
  /// source seems to construct.
  enum class Rates { any, linear, geometric, cited };
  int64_t lag = 2, terms = 2;
  Rates rates = Rates::any;
  double step = 0.01;          ///< linear: β_k = step·(k + 1)
  double low = 0.1, high = 4;  ///< geometric: from low to high
  double rate = 1;             ///< cited: a
  bool float_limits = false;   ///< also solves the linear programs for f32 and bf16, a second each
};

/// Throws Error naming the field and what is allowed.
void validate(const ExponentialSumConfig& config);

/// Metrics, for every kind of rates: the error `l1`, `paper_bound` 1.3 e^{0.02T}/m, `true_bound` (50/e) e^{0.02T}/m,
/// `log10_ratio` of l1 to the paper's bound (above 0: the lemma fails; at least −16). For `any` also: `proof_slack`,
/// how far the certificate is from proving l1 >= 1 (0 beyond the lag), `log10_gain` of the fit that reaches l1, and
/// `f32_error`, `bf16_error`, `f64_error`, the least l1 + ε·gain with at most `terms` heads on Chebyshev nodes; with
/// float_limits `f32_limit` and `bf16_limit`, that of any number of heads on any rates.
class ExponentialSumMeasurement : public ConfiguredMeasurement<ExponentialSumConfig> {
 public:
  using ConfiguredMeasurement::ConfiguredMeasurement;
  Metrics compute(uint64_t seed) const override;
  std::string describe() const override;
};

/// The metric names of a config.
std::set<std::string> metric_names_of(const ExponentialSumConfig& config);

}  // namespace headroom::tasks
