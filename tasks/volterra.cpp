#include "tasks/volterra.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::tasks {
namespace {

/// ±1 by the lowest of the random bits.
Tensor rademacher(const engine::Shape& shape, const engine::RngKey& key) {
  const Tensor x = Tensor::empty(shape);
  float* values = x.mutable_data<float>();
  for (int64_t i = 0; i < x.numel(); ++i)
    values[i] = (engine::random_bits(key, static_cast<uint64_t>(i)) & 1) != 0 ? 1.0f : -1.0f;
  return x;
}

}  // namespace

std::vector<VolterraTerm> exponential_terms(int64_t last) {
  std::vector<VolterraTerm> terms;
  for (int64_t a = 0; a <= last; ++a)
    for (int64_t b = 0; b <= last; ++b) terms.push_back({a, b, std::exp(-0.5 * static_cast<double>(a + b))});
  return terms;
}

void validate(const VolterraConfig& config) {
  require(!config.terms.empty(), "terms: empty, expected at least one pair of lags");
  require(config.token_dim >= 1, "token_dim: expected >= 1, got {}", config.token_dim);
  require(config.length >= 2, "length: expected >= 2, got {}", config.length);
  for (const VolterraTerm& term : config.terms) {
    const auto [low, high] = std::minmax({term.first, term.second});
    require(low >= 0 && high < config.length, "terms: lags ({}, {}) are out of range: expected 0 <= lag < length = {}",
            term.first, term.second, config.length);
    require(std::isfinite(term.weight), "terms: the weight {} is not finite", term.weight);
  }
  require(config.first_position >= 0 && config.first_position < config.length,
          "first_position: expected 0 <= first_position < length = {}, got {}", config.length, config.first_position);
}

VolterraBoundConfig bound_config(const VolterraConfig& config) {
  const bool is_bounded = config.input == VolterraInput::rademacher;
  const double b = is_bounded ? std::sqrt(static_cast<double>(config.token_dim)) : 1;
  return {.terms = config.terms, .token_dim = config.token_dim, .bound = b, .product_norm = b};
}

Volterra::Volterra(const VolterraConfig& config)
    : RegressionTask("volterra", config.token_dim, config.first_position), config_(config) {
  validate(config);
  for (const VolterraTerm& term : config.terms)
    for (const int64_t lag : {term.first, term.second}) lags_.push_back(lag);
  std::sort(lags_.begin(), lags_.end());
  lags_.erase(std::unique(lags_.begin(), lags_.end()), lags_.end());
}

ModelInterface Volterra::model_interface() const {
  const auto tokens = config_.products == Products::exact ? static_cast<int64_t>(lags_.size()) : 1;
  return {.length = config_.length, .input_dim = config_.token_dim, .output_dim = tokens * config_.token_dim};
}

Batch Volterra::sample(int64_t sequences, engine::Rng& rng, const std::string& stream) const {
  const engine::Shape shape{sequences, config_.length, config_.token_dim};
  const Tensor x = config_.input == VolterraInput::rademacher ? rademacher(shape, rng.take(stream, shape.numel()))
                                                              : engine::random_normal(shape, rng, stream);  // (B, T, d)
  return {.input = x, .target = target(x)};
}

Tensor Volterra::target(const Tensor& x_in) const {
  const Tensor x = tokens(x_in);  // (B, T, d)
  const int64_t length = x.dim(1), d = x.dim(2);
  Tensor y = Tensor::zeros(x.shape());  // (B, T, d)
  for (int64_t b = 0; b < x.dim(0); ++b) {
    const float* from = x.data<float>() + b * length * d;
    float* to = y.mutable_data<float>() + b * length * d;
    for (const VolterraTerm& term : config_.terms) {
      const auto h = static_cast<float>(term.weight);
      for (int64_t t = std::max(term.first, term.second); t < length; ++t) {
        const float *one = from + (t - term.first) * d, *other = from + (t - term.second) * d;
        for (int64_t j = 0; j < d; ++j) to[t * d + j] += h * one[j] * other[j];
      }
    }
  }
  return y;
}

Var Volterra::prediction(const Var& output) const {
  if (config_.products == Products::model) return output;
  const Var numbers = autograd::cast(output, engine::DType::f32);  // products of bf16 would be rounded
  const int64_t d = config_.token_dim;
  const auto token = [&](int64_t lag) {
    const int64_t i = std::lower_bound(lags_.begin(), lags_.end(), lag) - lags_.begin();
    return autograd::slice(numbers, 2, i * d, (i + 1) * d);  // (B, T, d)
  };
  Var sum;
  for (const VolterraTerm& term : config_.terms) {
    const Var product = token(term.first) * token(term.second) * term.weight;  // (B, T, d)
    sum = sum.defined() ? sum + product : product;
  }
  return sum;
}

std::string Volterra::describe() const {
  return fmt::format("second-order Volterra, {} terms up to lag {}, {} {} tokens of dim {}, scored from t = {}{}",
                     config_.terms.size(), lags_.back(), config_.length,
                     config_.input == VolterraInput::rademacher ? "±1" : "normal", config_.token_dim,
                     config_.first_position, config_.products == Products::exact ? ", exact products" : "");
}

}  // namespace headroom::tasks
