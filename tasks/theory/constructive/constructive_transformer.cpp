#include "tasks/theory/constructive/constructive_transformer.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "autograd/var.h"
#include "engine/context.h"
#include "engine/error.h"
#include "models/weights/sources.h"

namespace headroom::tasks {
namespace {

using engine::DType, engine::Tensor;

/// x (B, T, d) with time reversed.
Tensor reversed(const Tensor& x) {
  const Tensor from = x.contiguous();
  Tensor to = Tensor::empty(from.shape(), from.dtype());
  const int64_t length = from.dim(1);
  for (int64_t t = 0; t < length; ++t)
    engine::copy_inplace(to.slice(1, length - 1 - t, length - t), from.slice(1, t, t + 1));
  return to;
}

constexpr int64_t tokens_at_once = 4096;

models::Transformer constructed(const ConstructionPlan& plan, int64_t length, DType dtype,
                                models::Activation activation) {
  models::NamedWeights weights(constructive_weights(plan), {.dtype = dtype});
  return {constructive_config(plan, length, activation), weights};
}

}  // namespace

ConstructiveTransformer::ConstructiveTransformer(const ConstructionPlan& plan, int64_t length, DType dtype,
                                                 models::Activation activation)
    : zeros_(plan.zeros),
      looks_back_(plan.config.mended.looks_back),
      model_(constructed(plan, length, dtype, activation)) {}

Tensor ConstructiveTransformer::forward(const Tensor& x) const {
  require(x.rank() == 3, "constructive transformer: input must be (B, L, d), got {}", x.str());
  const int64_t length = x.dim(1) + zeros_;
  Tensor padded = Tensor::zeros({x.dim(0), length, x.dim(2)}, x.dtype());  // (B, zeros + L, d)
  engine::copy_inplace(padded.slice(1, zeros_, length), x);
  const autograd::NoGrad no_grad;
  // f64 is the proof's arithmetic: the plain loops. f32 shows what a model would compute.
  std::optional<engine::ReferenceScope> truth;
  if (x.dtype() == DType::f64) truth.emplace();
  const Tensor y = model_.forward(looks_back_ ? padded : reversed(padded)).value();  // (B, zeros + L, d)
  return (looks_back_ ? y : reversed(y)).slice(1, zeros_, length).contiguous();
}

Tensor unit_tokens(int64_t sequences, int64_t length, int64_t token_dim, uint64_t seed, DType dtype) {
  const engine::Shape shape{sequences, length, token_dim};
  engine::Rng rng(seed);
  const Tensor x = engine::random_normal(shape, rng, "inputs", 0, 1, DType::f64);
  auto* values = x.mutable_data<double>();
  for (int64_t t = 0; t < sequences * length; ++t) {
    double square = 0;
    for (int64_t i = 0; i < token_dim; ++i) square += values[t * token_dim + i] * values[t * token_dim + i];
    for (int64_t i = 0; i < token_dim; ++i) values[t * token_dim + i] /= std::sqrt(square);
  }
  return x.to(dtype);
}

void MeasuredError::add(const MeasuredError& other, int64_t before, int64_t more) {
  sup = std::max(sup, other.sup);
  late_sup = std::max(late_sup, other.late_sup);
  mean_square = (mean_square * static_cast<double>(before) + other.mean_square * static_cast<double>(more)) /
                static_cast<double>(before + more);
}

MeasuredError measure_error(const ConstructionPlan& plan, const ConstructiveTransformer& model, const Tensor& x) {
  const std::vector<double> output = model.forward(x).to_vector<double>(), input = x.to_vector<double>();
  const int64_t length = x.dim(1), d = x.dim(2), tokens = x.dim(0) * length;
  int64_t longest = 0;
  for (const TargetTerm& term : plan.config.target) longest = std::max(longest, term.lag);
  MeasuredError error;
  for (int64_t token = 0; token < tokens; ++token) {
    double square = 0;
    for (int64_t i = 0; i < d; ++i) {
      double target = 0;
      for (const TargetTerm& term : plan.config.target)
        if (term.lag <= token % length) target += term.weight * input[static_cast<size_t>((token - term.lag) * d + i)];
      square += std::pow(output[static_cast<size_t>(token * d + i)] - target, 2);
    }
    require(std::isfinite(square), "constructive transformer: output {} is not finite", token);
    error.sup = std::max(error.sup, std::sqrt(square));
    if (token % length >= longest) error.late_sup = std::max(error.late_sup, std::sqrt(square));
    error.mean_square += square / static_cast<double>(tokens);
  }
  return error;
}

MeasuredError random_error(const ConstructionPlan& plan, int64_t sequences, int64_t length, uint64_t seed, DType dtype,
                           models::Activation activation) {
  require(sequences >= 1 && length >= 1, "constructive transformer: {} sequences of {} tokens: expected >= 1 of each",
          sequences, length);
  const ConstructiveTransformer model(plan, length, dtype, activation);
  const Tensor x = unit_tokens(sequences, length, plan.config.token_dim, seed, dtype);
  const int64_t batch = std::max<int64_t>(1, tokens_at_once / (length + plan.zeros));
  MeasuredError error;
  for (int64_t begin = 0; begin < sequences; begin += batch) {
    const int64_t end = std::min(begin + batch, sequences);
    error.add(measure_error(plan, model, x.slice(0, begin, end).contiguous()), begin, end - begin);
  }
  return error;
}

}  // namespace headroom::tasks
