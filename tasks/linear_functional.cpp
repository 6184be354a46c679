#include "tasks/linear_functional.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::tasks {
namespace {

/// Sums over positions t ≥ first of every sequence and channel.
class RegressionMeter : public Meter {
 public:
  explicit RegressionMeter(int64_t first) : first_(first) {}

  void add(const Tensor& output, const Batch& batch) override {
    require(output.shape() == batch.target.shape(), "linear functional: output {} is not the target's shape {}",
            output.shape().str(), batch.target.shape().str());
    const Tensor y = batch.target.slice(1, first_, batch.target.dim(1)).contiguous();  // (B, T - first, d)
    const Tensor p = output.slice(1, first_, output.dim(1)).contiguous();              // (B, T - first, d)
    const float *want = y.data<float>(), *got = p.data<float>();
    for (int64_t i = 0; i < y.numel(); ++i) {
      const double t = want[i], error = got[i] - t;
      squared_error_ += error * error;
      sum_ += t;
      sum_squares_ += t * t;
    }
    count_ += y.numel();
  }

  Metrics result() const override {
    const double n = static_cast<double>(std::max<int64_t>(count_, 1));
    const double mse = squared_error_ / n, mean = sum_ / n;
    return {{"mse", mse}, {"relative_mse", mse / (sum_squares_ / n - mean * mean)}};
  }

 private:
  int64_t first_, count_ = 0;
  double squared_error_ = 0, sum_ = 0, sum_squares_ = 0;
};

/// Divides each row of x (…, d) by its norm.
void normalise_rows(const Tensor& x) {
  const int64_t d = x.dim(-1);
  float* row = x.mutable_data<float>();
  for (int64_t i = 0; i < x.numel() / d; ++i, row += d) {
    double squares = 0;
    for (int64_t j = 0; j < d; ++j) squares += double{row[j]} * row[j];
    const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
    for (int64_t j = 0; j < d; ++j) row[j] = static_cast<float>(row[j] * scale);
  }
}

}  // namespace

void validate(const LinearFunctionalConfig& config) {
  require(config.kernel.kind == "n-gram", "kernel.kind: wants n-gram, got {}", config.kernel.kind);
  require(config.kernel.n >= 1, "kernel.n: wants >= 1, got {}", config.kernel.n);
  require(config.token_dim >= 1, "token_dim: wants >= 1, got {}", config.token_dim);
  require(config.length >= 2, "length: wants >= 2, got {}", config.length);
  // Before t = 1 the target is 0 everywhere: a loss over t = 0 alone has no variance to be relative to.
  require(config.first_position >= 0 && config.first_position < config.length,
          "first_position: wants 0 <= first_position < length = {}, got {}", config.length, config.first_position);
}

LinearFunctional::LinearFunctional(const LinearFunctionalConfig& config) : config_(config) {
  validate(config);
  kernel_.assign(static_cast<size_t>(std::min(config.kernel.n, config.length - 1)), 1.0);
}

ModelInterface LinearFunctional::model_interface() const {
  return {.length = config_.length, .input_dim = config_.token_dim, .output_dim = config_.token_dim};
}

Batch LinearFunctional::train_batch(int64_t, int64_t sequences, engine::Rng& rng) const {
  return sample(sequences, rng, "data");
}

Batch LinearFunctional::evaluation(Split split, int64_t sequences) const {
  engine::Rng rng(evaluation_seed);
  return sample(sequences, rng, split == Split::validation ? "validation" : "test");
}

Tensor LinearFunctional::target(const Tensor& x_in) const {
  const Tensor x = x_in.contiguous();  // (B, T, d)
  require(x.rank() == 3 && x.dim(2) == config_.token_dim, "linear functional: tokens {} are not (B, T, {})",
          x.shape().str(), config_.token_dim);
  const int64_t length = x.dim(1), d = x.dim(2);
  Tensor y = Tensor::zeros(x.shape());  // (B, T, d)
  for (int64_t b = 0; b < x.dim(0); ++b) {
    const float* from = x.data<float>() + b * length * d;
    float* to = y.mutable_data<float>() + b * length * d;
    for (int64_t t = 1; t < length; ++t) {
      const int64_t lags = std::min<int64_t>(t, static_cast<int64_t>(kernel_.size()));
      for (int64_t s = 1; s <= lags; ++s) {
        const float rho = static_cast<float>(kernel_[static_cast<size_t>(s - 1)]);
        for (int64_t j = 0; j < d; ++j) to[t * d + j] += rho * from[(t - s) * d + j];
      }
    }
  }
  return y;
}

Batch LinearFunctional::sample(int64_t sequences, engine::Rng& rng, const std::string& stream) const {
  const engine::Shape shape{sequences, config_.length, config_.token_dim};
  const Tensor x = engine::random_normal(shape, 0, 1, rng.take(stream, (shape.numel() + 1) / 2 * 2));  // (B, T, d)
  if (config_.input == TokenInput::unit) normalise_rows(x);
  return {x, target(x)};
}

Var LinearFunctional::loss(const Var& output, const Batch& batch) const {
  const int64_t first = config_.first_position;
  if (first == 0) return autograd::mse(output, Var(batch.target));
  const Var scored = autograd::slice(output, 1, first, config_.length);  // (B, T - first, d)
  return autograd::mse(scored, Var(batch.target.slice(1, first, config_.length)));
}

std::unique_ptr<Meter> LinearFunctional::meter() const {
  return std::make_unique<RegressionMeter>(config_.first_position);
}

std::string LinearFunctional::describe() const {
  return fmt::format("linear functional, {}-gram, {} {} tokens of dim {}, scored from t = {}", config_.kernel.n,
                     config_.length, config_.input == TokenInput::unit ? "unit" : "normal", config_.token_dim,
                     config_.first_position);
}

}  // namespace headroom::tasks
