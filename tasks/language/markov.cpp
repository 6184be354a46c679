#include "tasks/language/markov.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/error.h"
#include "engine/rng.h"

namespace headroom::tasks {
namespace {

constexpr double tolerance = 1e-12;
constexpr int64_t largest_table = 1 << 22;
constexpr int most_iterations = 20'000;

int64_t power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent-- > 0 && result <= largest_table) result *= base;
  return result;
}

/// The first index whose running sum exceeds u · sum.
int64_t pick(const double* running, int64_t count, double u) {
  const double* end = running + count;
  return std::min<int64_t>(std::upper_bound(running, end, u * end[-1]) - running, count - 1);
}

}  // namespace

void validate(const MarkovConfig& config) {
  require(config.symbols >= 2 && config.symbols <= 1 << 16, "markov.symbols: expected 2 … 65536, got {}",
          config.symbols);
  require(config.order >= 1 && config.order <= 16, "markov.order: expected 1 … 16, got {}", config.order);
  require(power(config.symbols, config.order + 1) <= largest_table,
          "markov: symbols^(order + 1) = {}^{} is more than the {} entries that a table may have", config.symbols,
          config.order + 1, largest_table);
  require(config.seed >= 0, "markov.seed: expected >= 0, got {}", config.seed);
  require(config.sharpness >= 0 && config.sharpness <= 20, "markov.sharpness: expected 0 … 20, got {}",
          config.sharpness);
  require(config.tokens >= 1 && config.tokens <= 1'000'000'000, "markov.tokens: expected 1 … 1000000000, got {}",
          config.tokens);
}

MarkovSource::MarkovSource(const MarkovConfig& config) : config_(config) {
  validate(config);
  contexts_ = power(config.symbols, config.order);
  const int64_t entries = contexts_ * config.symbols;
  engine::Rng rng(static_cast<uint64_t>(config.seed));
  transitions_ =
      engine::random_normal({entries}, rng, "transitions", 0, config.sharpness, engine::DType::f64).to_vector<double>();
  for (int64_t c = 0; c < contexts_; ++c) {
    double* row = transitions_.data() + c * config.symbols;
    double sum = 0;
    for (int64_t v = 0; v < config.symbols; ++v) sum += row[v] = std::exp(row[v]);
    for (int64_t v = 0; v < config.symbols; ++v) row[v] /= sum;
  }
  solve_entropy_rate();
  solve_stationary();
}

/// g ← P g from g(c) = entropy of row c. Every value of P g is a mean of values of g, so min g rises, max g falls, and
/// the limit lies between them at every step: a bound on the error, not an estimate of it.
void MarkovSource::solve_entropy_rate() {
  const int64_t symbols = config_.symbols, suffixes = contexts_ / symbols;
  std::vector<double> g(static_cast<size_t>(contexts_)), next(g.size());
  for (int64_t c = 0; c < contexts_; ++c) {
    double entropy = 0;
    for (int64_t v = 0; v < symbols; ++v) {
      const double p = transitions_[static_cast<size_t>(c * symbols + v)];
      if (p > 0) entropy -= p * std::log(p);
    }
    g[static_cast<size_t>(c)] = entropy;
  }
  for (int i = 0; i < most_iterations; ++i) {
    const auto [low, high] = std::minmax_element(g.begin(), g.end());
    entropy_rate_ = 0.5 * (*low + *high);
    entropy_rate_error_ = 0.5 * (*high - *low);
    if (entropy_rate_error_ <= tolerance) return;
    for (int64_t c = 0; c < contexts_; ++c) {
      double mean = 0;
      for (int64_t v = 0; v < symbols; ++v)
        mean += transitions_[static_cast<size_t>(c * symbols + v)] * g[static_cast<size_t>(c % suffixes * symbols + v)];
      next[static_cast<size_t>(c)] = mean;
    }
    g.swap(next);
  }
  fail("markov: the chain mixes too slowly: entropy rate {} ± {} after {} iterations; lower sharpness = {}",
       entropy_rate_, entropy_rate_error_, most_iterations, config_.sharpness);
}

/// π ← π P until it stays.
void MarkovSource::solve_stationary() {
  const int64_t symbols = config_.symbols, suffixes = contexts_ / symbols;
  stationary_.assign(static_cast<size_t>(contexts_), 1 / static_cast<double>(contexts_));
  double change = 1;
  for (int i = 0; i < most_iterations && change > tolerance; ++i) {
    std::vector<double> next(stationary_.size(), 0.0);
    for (int64_t c = 0; c < contexts_; ++c)
      for (int64_t v = 0; v < symbols; ++v)
        next[static_cast<size_t>(c % suffixes * symbols + v)] +=
            stationary_[static_cast<size_t>(c)] * transitions_[static_cast<size_t>(c * symbols + v)];
    change = 0;
    for (size_t c = 0; c < next.size(); ++c) change += std::abs(next[c] - stationary_[c]);
    stationary_.swap(next);
  }
  require(change <= tolerance, "markov: no stationary distribution within {} after {} iterations; lower sharpness = {}",
          tolerance, most_iterations, config_.sharpness);
}

std::vector<int32_t> MarkovSource::sample(int64_t count, const std::string& stream) const {
  const int64_t symbols = config_.symbols, suffixes = contexts_ / symbols;
  std::vector<double> running(transitions_.size()), starts(stationary_.size());
  for (int64_t c = 0; c < contexts_; ++c) {
    const auto row = transitions_.begin() + c * symbols;
    std::partial_sum(row, row + symbols, running.begin() + c * symbols);
  }
  std::partial_sum(stationary_.begin(), stationary_.end(), starts.begin());
  engine::Rng rng(static_cast<uint64_t>(config_.seed));
  const engine::RngKey key = rng.take(stream, count + 1);
  const auto uniform = [&](int64_t i) { return (engine::random_bits(key, static_cast<uint64_t>(i)) + 0.5) * 0x1p-32; };
  int64_t context = pick(starts.data(), contexts_, uniform(0));
  std::vector<int32_t> text(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t symbol = pick(running.data() + context * symbols, symbols, uniform(i + 1));
    text[static_cast<size_t>(i)] = static_cast<int32_t>(symbol);
    context = context % suffixes * symbols + symbol;
  }
  return text;
}

}  // namespace headroom::tasks
