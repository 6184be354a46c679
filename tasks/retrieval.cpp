#include "tasks/retrieval.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/error.h"

namespace headroom::tasks {

void validate(const RetrievalConfig& config) {
  require(config.features >= 1, "features: expected >= 1, got {}", config.features);
  require(config.token_dim >= 1, "token_dim: expected >= 1, got {}", config.token_dim);
  require(config.length >= 2, "length: expected >= 2, got {}", config.length);
}

Retrieval::Retrieval(const RetrievalConfig& config)
    : RegressionTask("retrieval", config.token_dim, 0), config_(config) {
  validate(config);
  engine::Rng rng(static_cast<uint64_t>(config.vector_seed));
  directions_ = engine::random_normal({config.features, config.token_dim}, rng, "directions");  // (D, d)
  for (int64_t i = 0; i < config.features; ++i) {
    float* a = directions_.mutable_data<float>() + i * config.token_dim;
    double squares = 0;
    for (int64_t j = 0; j < config.token_dim; ++j) squares += static_cast<double>(a[j]) * a[j];
    for (int64_t j = 0; j < config.token_dim; ++j) a[j] = static_cast<float>(a[j] / std::sqrt(squares));
  }
}

ModelInterface Retrieval::model_interface() const {
  return {.length = config_.length, .input_dim = config_.token_dim, .output_dim = 1};
}

Batch Retrieval::sample(int64_t sequences, engine::Rng& rng, const std::string& stream) const {
  const Tensor x = engine::random_uniform({sequences, config_.length, config_.token_dim}, rng, stream);  // (B, T, d)
  return {.input = x, .target = target(x)};
}

Tensor Retrieval::target(const Tensor& x_in) const {
  const Tensor x = tokens(x_in);  // (B, T, d)
  const int64_t length = x.dim(1), d = x.dim(2);
  const Tensor y = Tensor::zeros({x.dim(0), length, 1});  // (B, T, 1)
  for (int64_t b = 0; b < x.dim(0); ++b) {
    const float* tokens = x.data<float>() + b * length * d;
    float sum = 0;
    for (int64_t i = 0; i < config_.features; ++i) {
      const float* a = directions_.data<float>() + i * d;
      float largest = -std::numeric_limits<float>::infinity();
      for (int64_t s = 0; s < length; ++s) {
        float value = 0;
        for (int64_t j = 0; j < d; ++j) value += a[j] * tokens[s * d + j];
        largest = std::max(largest, value);
      }
      sum += largest;
    }
    std::fill_n(y.mutable_data<float>() + b * length, length, sum);
  }
  return y;
}

std::string Retrieval::describe() const {
  return fmt::format("sum of the maxima of {} features over {} tokens of dim {}", config_.features, config_.length,
                     config_.token_dim);
}

}  // namespace headroom::tasks
