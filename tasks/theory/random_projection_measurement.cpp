#include "tasks/theory/random_projection_measurement.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "tasks/theory/random_projection.h"

namespace headroom::tasks {

void validate(const RandomProjectionConfig& config) {
  require(config.dim >= 2 && config.dim <= 4096, "dim: expected 2..4096, got {}", config.dim);
  require(config.rank >= 1 && config.rank < config.dim, "rank: expected 1..dim - 1 = {}, got {}", config.dim - 1,
          config.rank);
  require(config.samples >= 2, "samples: expected >= 2, got {}", config.samples);
  require(config.epsilon >= 0 && std::isfinite(config.epsilon), "epsilon: expected >= 0, got {}", config.epsilon);
  require(config.vectors >= 1, "vectors: expected >= 1, got {}", config.vectors);
  require(config.delta > 0 && config.delta < 1, "delta: expected (0, 1), got {}", config.delta);
}

Metrics RandomProjectionMeasurement::compute(uint64_t seed) const {
  const ProjectionLaw law(config_.dim, config_.rank);
  const std::vector<double> squares = sample_residuals(config_.dim, config_.rank, config_.samples, seed);
  const auto n = static_cast<double>(squares.size());
  const double least = std::sqrt(law.mean_square()) + config_.epsilon;
  double sum = 0, above = 0;
  for (const double square : squares) {
    sum += square;
    above += std::sqrt(square) > least ? 1 : 0;
  }
  Metrics metrics;
  metrics["mean_square"] = sum / n;
  metrics["expected_square"] = law.mean_square();
  metrics["z_score"] = (sum / n - law.mean_square()) / (law.std_square() / std::sqrt(n));
  metrics["distance"] = distance_from(law, squares);
  metrics["tail"] = above / n;
  metrics["exact_tail"] = law.tail(config_.epsilon);
  metrics["tail_bound"] = lemma_tail(config_.dim, config_.epsilon);
  metrics["union_residual"] = law.quantile(config_.delta / static_cast<double>(config_.vectors));
  metrics["union_bound"] = lemma_residual(config_.dim, config_.rank, config_.vectors, config_.delta);
  metrics["tightness"] = metrics["union_bound"] / metrics["union_residual"];
  return metrics;
}

std::string RandomProjectionMeasurement::describe() const {
  return fmt::format("{} random subspaces of {} of {} dimensions", config_.samples, config_.rank, config_.dim);
}

}  // namespace headroom::tasks
