#pragma once
#include <set>
#include <string>

#include "tasks/measurement.h"

namespace headroom::tasks {

/// Tests the lemma on random projections on samples.
struct RandomProjectionConfig {
  using Made = class RandomProjectionMeasurement;
  int64_t dim = 64, rank = 16;
  int64_t samples = 1000;  ///< random subspaces
  double epsilon = 0.05;   ///< of the tail
  int64_t vectors = 1024;  ///< N of the union bound
  double delta = 0.05;     ///< its probability
};

/// Throws Error naming the field and what is allowed.
void validate(const RandomProjectionConfig& config);

/// Metrics: `mean_square` of the samples and the `expected_square` 1 − r/D, `z_score` their difference in standard
/// errors, `distance` Kolmogorov–Smirnov's of the samples to the Beta law, `tail` the share above √(1 − r/D) + ε with
/// `exact_tail` and the lemma's `tail_bound` (c = 1/4), `union_residual` what a residual of N vectors exceeds with
/// probability δ and the lemma's `union_bound`, and `tightness` = union_bound / union_residual.
class RandomProjectionMeasurement : public ConfiguredMeasurement<RandomProjectionConfig> {
 public:
  using ConfiguredMeasurement::ConfiguredMeasurement;
  Metrics compute(uint64_t seed) const override;
  std::string describe() const override;
};

/// The metric names of a config.
inline std::set<std::string> metric_names_of(const RandomProjectionConfig&) {
  return {"mean_square", "expected_square", "z_score",        "distance",    "tail",
          "exact_tail",  "tail_bound",      "union_residual", "union_bound", "tightness"};
}

}  // namespace headroom::tasks
