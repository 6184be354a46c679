#pragma once
#include <cstdint>
#include <set>
#include <string>

#include "tasks/measurement.h"
#include "tasks/theory/constructive/constructive_transformer.h"

namespace headroom::tasks {

/// An n-gram target y_t = Σ x_{t−m} over lags first_lag … first_lag + lags − 1, and a construction for it with equally
/// many heads per lag.
struct ConstructiveConfig {
  using Made = class ConstructiveTask;
  Construction kind = Construction::groups;
  int64_t token_dim = 8;  ///< d
  int64_t heads = 8;      ///< per lag
  int64_t head_dim = 8;   ///< <= token_dim
  /// Splits the token's rows among a lag's narrower heads: d/head_dim sub-groups of heads·head_dim/d each (STUDIES: the
  /// first term of the bound is an artefact). If false, all read the same rows.
  bool split = false;
  int64_t first_lag = 1, lags = 4;
  double scale = 0;  ///< c of the Chebyshev nodes; 0 = the best for the dtype
  Mended mended;
  engine::DType dtype = engine::DType::f64;
  models::Activation activation = models::Activation::relu;
  int64_t sequences = 1000, length = 64;  ///< of random inputs, tokens uniform on the unit sphere
};

/// Throws Error naming the field and what is allowed.
void validate(const ConstructiveConfig& config);

/// The construction for a config.
ConstructionConfig construction_of(const ConstructiveConfig& config);

/// Metrics: "sup_error", the largest error over the random inputs; "bound", Theorem 1's for this split of the width
/// (shared: Corollary 1's least at this width); "tightness", bound / sup_error; for mended constructions also
/// "worst_case" and "sharp_bound".
class ConstructiveTask : public ConfiguredMeasurement<ConstructiveConfig> {
 public:
  using ConfiguredMeasurement::ConfiguredMeasurement;
  Metrics compute(uint64_t seed) const override;
  std::string describe() const override;
};

/// The metric names of a config.
std::set<std::string> metric_names_of(const ConstructiveConfig& config);

}  // namespace headroom::tasks
