#include "models/generation/sampler.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "engine/error.h"

namespace headroom::models {
namespace {

bool likelier(const std::pair<int64_t, double>& a, const std::pair<int64_t, double>& b) {
  return a.second != b.second ? a.second > b.second : a.first < b.first;
}

}  // namespace

Sampler::Sampler(const SamplingOptions& options) : options_(options), rng_(options.seed) {
  const auto wants = [](const char* name, double value, bool ok, const char* wanted) {
    require(ok, "sampling: {} is {}, {} is wanted", name, value, wanted);
  };
  wants("temperature", options.temperature, std::isfinite(options.temperature) && options.temperature >= 0,
        "0 or more");
  wants("top_k", static_cast<double>(options.top_k), options.top_k >= 0, "0 or more");
  wants("top_p", options.top_p, options.top_p > 0 && options.top_p <= 1, "above 0 and at most 1");
  wants("min_p", options.min_p, options.min_p >= 0 && options.min_p <= 1, "0 to 1");
  wants("repetition_penalty", options.repetition_penalty,
        std::isfinite(options.repetition_penalty) && options.repetition_penalty > 0, "above 0");
}

Sampler::Candidates Sampler::candidates(const float* logits, int64_t vocab, const std::vector<int32_t>& history) const {
  const std::unordered_set<int32_t> occurred(history.begin(), history.end());
  Candidates all;
  all.reserve(static_cast<size_t>(vocab));
  for (int64_t id = 0; id < vocab; ++id) {
    double logit = logits[id];
    require(!std::isnan(logit) && logit < HUGE_VAL, "sampling: the logit of token {} is {}", id, logit);
    if (options_.repetition_penalty != 1 && occurred.contains(static_cast<int32_t>(id)))
      logit = logit > 0 ? logit / options_.repetition_penalty : logit * options_.repetition_penalty;
    all.emplace_back(id, logit);
  }
  return all;
}

int64_t Sampler::next(const float* logits, int64_t vocab, const std::vector<int32_t>& history) {
  Candidates left = candidates(logits, vocab, history);
  const auto best = std::min_element(left.begin(), left.end(), likelier);
  require(best != left.end() && best->second > -HUGE_VAL, "sampling: no token is possible");
  if (options_.temperature == 0) return best->first;
  if (options_.top_k > 0 && options_.top_k < vocab) {
    std::nth_element(left.begin(), left.begin() + options_.top_k, left.end(), likelier);
    left.resize(static_cast<size_t>(options_.top_k));
  }
  std::sort(left.begin(), left.end(), likelier);
  // Shares of the likeliest's probability, and their sum.
  std::vector<double> shares;
  const double largest = left[0].second;
  double total = 0;
  for (const auto& [id, logit] : left) total += shares.emplace_back(std::exp((logit - largest) / options_.temperature));
  size_t kept = left.size();
  if (options_.top_p < 1) {
    double sum = 0;
    for (kept = 0; kept < left.size() && sum < options_.top_p * total; ++kept) sum += shares[kept];
  }
  while (kept > 1 && shares[kept - 1] < options_.min_p) --kept;
  total = 0;
  for (size_t i = 0; i < kept; ++i) total += shares[i];
  const engine::Tensor uniform = engine::random_uniform({1}, 0, 1, rng_.take("sample", 1), engine::DType::f64);
  double rest = uniform.item() * total;
  for (size_t i = 0; i + 1 < kept; ++i) {
    rest -= shares[i];
    if (rest < 0) return left[i].first;
  }
  return left[kept - 1].first;
}

}  // namespace headroom::models
