#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tasks/measurement.h"

namespace headroom::tasks {

/// The law of the residual ‖x − Πx‖ of a unit vector x projected on a uniformly random `rank`-dimensional subspace of
/// R^dim: its square is Beta((D − r)/2, r/2) for any x. The paper's lemma on random projections bounds it; the law is
/// exact. Functions throw Error unless 1 <= rank < dim.
class ProjectionLaw {
 public:
  ProjectionLaw(int64_t dim, int64_t rank);

  double mean_square() const;  ///< E residual² = 1 − r/D
  double std_square() const;   ///< of residual²: √(2 r (D − r) / (D² (D + 2)))
  double mean() const;         ///< E residual, below √(1 − r/D)
  /// P(residual² <= square).
  double distribution(double square) const;
  /// P(residual > √(1 − r/D) + epsilon), epsilon >= 0.
  double tail(double epsilon) const;
  /// The u <= 1 with P(residual > u) = probability: with δ/N, all residuals of N vectors are below it except with
  /// probability δ, by the union bound. The paper's concentration term stands for this.
  double quantile(double probability) const;

 private:
  double dim_, rank_, above_, below_;  ///< D, r, (D − r)/2, r/2
};

/// The lemma leaves its constant c open. 1/4 is provable: e^{−(D−1)ε²/2} about the mean, D >= 2.
inline constexpr double concentration_constant = 0.25;
/// The lemma's tail 2 exp(−c D ε²).
double lemma_tail(int64_t dim, double epsilon);
/// The lemma's √(1 − r/D) + √(ln(2N/δ) / (cD)): bounds all N residuals of `vectors` at once with probability 1 − δ.
/// Vacuous above 1.
double lemma_residual(int64_t dim, int64_t rank, int64_t vectors, double delta);

/// Squared residuals of one unit vector under `samples` random subspaces, each spanned by orthonormalised normal
/// vectors. The vector is e_1, which no step exploits. A function of the seed.
std::vector<double> sample_residuals(int64_t dim, int64_t rank, int64_t samples, uint64_t seed);

/// Kolmogorov–Smirnov's √n·sup|F_n − F| of squared residuals against the law; above 1.63 in one case of a hundred.
double distance_from(const ProjectionLaw& law, std::vector<double> squares);

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
