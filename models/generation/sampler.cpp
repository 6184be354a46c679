#include "models/generation/sampler.h"

#include <cmath>
#include <unordered_set>

#include "engine/error.h"

namespace headroom::models {
namespace {

void require_possible(int64_t id, double logit) {
  if (std::isnan(logit) || logit >= HUGE_VAL)
    throw NoLogit(fmt::format("sampling: the logit of token {} is {}", id, std::abs(logit)));
}

/// The logits in f64, on the CPU, those of tokens that occurred made less likely.
engine::Tensor penalised(const engine::Tensor& logits, const std::vector<int32_t>& history, double penalty) {
  const std::unordered_set<int32_t> occurred(history.begin(), history.end());
  std::vector<double> all = logits.to_vector<double>();
  for (const int32_t id : occurred) {
    if (id < 0 || static_cast<size_t>(id) >= all.size()) continue;
    double& logit = all[static_cast<size_t>(id)];
    logit = logit > 0 ? logit / penalty : logit * penalty;
  }
  return engine::Tensor::from(logits.shape(), all);  // (vocab)
}

}  // namespace

Sampler::Sampler(const SamplingOptions& options) : options_(options), rng_(options.seed) {
  const auto wants = [](const char* name, double value, bool ok, const char* wanted) {
    require(ok, "sampling: {} is {}, expected {}", name, value, wanted);
  };
  wants("temperature", options.temperature, std::isfinite(options.temperature) && options.temperature >= 0,
        "0 or more");
  wants("top_k", static_cast<double>(options.top_k), options.top_k >= 0, "0 or more");
  wants("top_p", options.top_p, options.top_p > 0 && options.top_p <= 1, "above 0 and at most 1");
  wants("min_p", options.min_p, options.min_p >= 0 && options.min_p <= 1, "0 to 1");
  wants("repetition_penalty", options.repetition_penalty,
        std::isfinite(options.repetition_penalty) && options.repetition_penalty > 0, "above 0");
}

TokenDraw Sampler::draw() {
  return {{options_.temperature, options_.top_k, options_.top_p, options_.min_p},
          options_.temperature > 0 ? rng_.take("sample", 1) : engine::RngKey{}};
}

int64_t Sampler::next(const engine::Tensor& logits, const std::vector<int32_t>& history) {
  const TokenDraw drawn = draw();
  require(logits.numel() > 0, "sampling: no token is possible");
  const engine::Tensor given = has_penalty() ? penalised(logits, history, options_.repetition_penalty) : logits;
  return checked(static_cast<int64_t>(engine::choose_token(given, drawn.filter, drawn.key).item()), logits);
}

int64_t Sampler::checked(int64_t token, const engine::Tensor& logits) {
  if (token >= 0) return token;
  const std::vector<float> all = logits.to_vector<float>();
  for (size_t i = 0; i < all.size(); ++i) require_possible(static_cast<int64_t>(i), static_cast<double>(all[i]));
  fail("sampling: no token is possible");
}

int64_t Sampler::next(const float* logits, int64_t vocab, const std::vector<int32_t>& history) {
  return next(engine::Tensor::over(logits, nullptr, {vocab}, engine::DType::f32), history);
}

}  // namespace headroom::models
