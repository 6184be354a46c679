#include "models/generation/sampler.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "engine/error.h"

namespace headroom::models {
namespace {

void require_possible(int64_t id, double logit) {
  require(!std::isnan(logit) && logit < HUGE_VAL, "sampling: the logit of token {} is {}", id, logit);
}

/// The likeliest of all, the one of the least id among equals.
int64_t likeliest(const float* logits, int64_t vocab) {
  int64_t best = 0;
  bool possible = true;
  for (int64_t id = 0; id < vocab; ++id) {
    possible &= logits[id] < HUGE_VALF;  // false for NaN, too
    if (logits[id] > logits[best]) best = id;
  }
  for (int64_t id = 0; id < vocab && !possible; ++id) require_possible(id, logits[id]);
  require(vocab > 0 && logits[best] > -HUGE_VALF, "sampling: no token is possible");
  return best;
}

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
    require_possible(id, logit);
    if (options_.repetition_penalty != 1 && occurred.contains(static_cast<int32_t>(id)))
      logit = logit > 0 ? logit / options_.repetition_penalty : logit * options_.repetition_penalty;
    all.emplace_back(id, logit);
  }
  return all;
}

int64_t Sampler::next(const float* logits, int64_t vocab, const std::vector<int32_t>& history) {
  if (options_.temperature == 0 && options_.repetition_penalty == 1) return likeliest(logits, vocab);
  Candidates left = candidates(logits, vocab, history);
  const auto best = std::min_element(left.begin(), left.end(), likelier);
  require(best != left.end() && best->second > -HUGE_VAL, "sampling: no token is possible");
  if (options_.temperature == 0) return best->first;
  const double largest = best->second;
  if (options_.top_k > 0 && options_.top_k < vocab) {
    std::nth_element(left.begin(), left.begin() + options_.top_k, left.end(), likelier);
    left.resize(static_cast<size_t>(options_.top_k));
  }
  const auto share_of = [&](const std::pair<int64_t, double>& candidate) {  // of the likeliest's probability
    return std::exp((candidate.second - largest) / options_.temperature);
  };
  // Sorted only as far as it is looked at, which is mostly a few of the vocabulary.
  size_t sorted = 0;
  const auto at = [&](size_t i) -> const std::pair<int64_t, double>& {
    while (sorted <= i) {
      const size_t end = std::min(left.size(), std::max<size_t>(512, 4 * sorted));
      const auto place = [&](size_t n) { return left.begin() + static_cast<std::ptrdiff_t>(n); };
      std::partial_sort(place(sorted), place(end), left.end(), likelier);
      sorted = end;
    }
    return left[i];
  };
  double total = 0;
  for (const auto& candidate : left) total += share_of(candidate);
  size_t kept = left.size();
  if (options_.top_p < 1) {
    double sum = 0;
    for (kept = 0; kept < left.size() && sum < options_.top_p * total; ++kept) sum += share_of(at(kept));
  }
  if (options_.min_p > 0) {
    const auto enough = [&](const auto& candidate) { return share_of(candidate) >= options_.min_p; };
    kept = std::min(kept, static_cast<size_t>(std::count_if(left.begin(), left.end(), enough)));
  }
  if (kept < left.size()) {
    total = 0;
    for (size_t i = 0; i < kept; ++i) total += share_of(at(i));
  }
  const engine::Tensor uniform = engine::random_uniform({1}, 0, 1, rng_.take("sample", 1), engine::DType::f64);
  double rest = uniform.item() * total;
  for (size_t i = 0; i + 1 < kept; ++i) {
    rest -= share_of(at(i));
    if (rest < 0) return at(i).first;
  }
  return at(kept - 1).first;
}

}  // namespace headroom::models
