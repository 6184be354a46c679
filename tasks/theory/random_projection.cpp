#include "tasks/theory/random_projection.h"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/linalg/qr.h"
#include "engine/rng.h"
#include "tasks/no_throw.h"

namespace headroom::tasks {
namespace {

using Beta = boost::math::beta_distribution<double, NoThrow>;

void check(int64_t dim, int64_t rank) {
  require(rank >= 1 && rank < dim, "random projection: rank {} of dimension {}: expected 1 <= rank < dimension", rank,
          dim);
}

}  // namespace

ProjectionLaw::ProjectionLaw(int64_t dim, int64_t rank)
    : dim_(static_cast<double>(dim)), rank_(static_cast<double>(rank)), above_((dim_ - rank_) / 2), below_(rank_ / 2) {
  check(dim, rank);
}

double ProjectionLaw::mean_square() const { return 1 - rank_ / dim_; }

double ProjectionLaw::std_square() const { return std::sqrt(2 * rank_ * (dim_ - rank_) / (dim_ * dim_ * (dim_ + 2))); }

double ProjectionLaw::mean() const {
  using boost::math::tgamma_delta_ratio;
  return tgamma_delta_ratio(above_ + below_, 0.5, NoThrow()) / tgamma_delta_ratio(above_, 0.5, NoThrow());
}

double ProjectionLaw::distribution(double square) const {
  return boost::math::cdf(Beta(above_, below_), std::clamp(square, 0.0, 1.0));
}

double ProjectionLaw::tail(double epsilon) const {
  require(epsilon >= 0, "random projection: epsilon is {}: expected >= 0", epsilon);
  const double least = std::sqrt(mean_square()) + epsilon;
  if (least >= 1) return 0;
  const Beta law(above_, below_);
  return boost::math::cdf(boost::math::complement(law, least * least));
}

double ProjectionLaw::quantile(double probability) const {
  require(probability > 0 && probability < 1, "random projection: probability {} must be in (0, 1)", probability);
  const Beta law(above_, below_);
  return std::sqrt(boost::math::quantile(boost::math::complement(law, probability)));
}

double lemma_tail(int64_t dim, double epsilon) {
  return 2 * std::exp(-concentration_constant * static_cast<double>(dim) * epsilon * epsilon);
}

double lemma_residual(int64_t dim, int64_t rank, int64_t vectors, double delta) {
  check(dim, rank);
  require(vectors >= 1 && delta > 0 && delta < 1, "random projection: {} vectors, delta {}: expected >= 1 and (0, 1)",
          vectors, delta);
  const auto d = static_cast<double>(dim);
  return std::sqrt(1 - static_cast<double>(rank) / d) +
         std::sqrt(std::log(2 * static_cast<double>(vectors) / delta) / (concentration_constant * d));
}

std::vector<double> sample_residuals(int64_t dim, int64_t rank, int64_t samples, uint64_t seed) {
  check(dim, rank);
  engine::Rng rng(seed);
  std::vector<double> squares;
  for (int64_t i = 0; i < samples; ++i) {
    engine::check_stopped();
    const engine::Tensor normal =
        engine::random_normal({dim, rank}, rng, "subspaces", 0, 1, engine::DType::f64);  // (D, r)
    const engine::Tensor basis = engine::linalg::qr(normal).q.contiguous();              // (D, r)
    double kept = 0;
    for (int64_t j = 0; j < rank; ++j) kept += std::pow(basis.data<double>()[j], 2);  // |Π e_1|²
    squares.push_back(std::clamp(1 - kept, 0.0, 1.0));
  }
  return squares;
}

double distance_from(const ProjectionLaw& law, std::vector<double> squares) {
  require(!squares.empty(), "random projection: there are no samples");
  std::sort(squares.begin(), squares.end());
  const auto n = static_cast<double>(squares.size());
  double distance = 0;
  for (size_t i = 0; i < squares.size(); ++i) {
    const double probability = law.distribution(squares[i]), at = static_cast<double>(i);
    distance = std::max({distance, probability - at / n, (at + 1) / n - probability});
  }
  return distance * std::sqrt(n);
}

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
