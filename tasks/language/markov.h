#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace headroom::tasks {

/// A synthetic language with a known entropy rate.
struct MarkovConfig {
  int64_t symbols = 8;         ///< V
  int64_t order = 2;           ///< k: the next symbol depends on the last k
  int64_t seed = 1;            ///< of the transition table and the text: the same language for every trial seed
  double sharpness = 1.5;      ///< 0: uniform symbols; larger: fewer likely successors
  int64_t tokens = 1'000'000;  ///< length of the text, over all splits
};

/// Throws Error naming the field and what is allowed.
void validate(const MarkovConfig& config);

/// An order-k Markov source over V symbols. Each row of its table is the softmax of V logits N(0, sharpness²) (a
/// logistic-normal row: Aitchison & Shen, 1980), so every symbol may follow every context and the stationary
/// distribution is unique. Context x_{t-k} … x_{t-1} has index Σ_i x_{t-i} V^{i-1}.
class MarkovSource {
 public:
  /// Throws Error if the config is invalid or the chain mixes too slowly to compute its entropy rate.
  explicit MarkovSource(const MarkovConfig& config);

  /// p(symbol | context), f64, row-major (V^k, V).
  const std::vector<double>& transitions() const { return transitions_; }
  /// π (V^k): the share of time in each context. ‖πP − π‖₁ ≤ 1e-12.
  const std::vector<double>& stationary() const { return stationary_; }
  /// H = −Σ_c π(c) Σ_v p(v|c) ln p(v|c), in nats per symbol: the least expected cross-entropy of any model of the text.
  double entropy_rate() const { return entropy_rate_; }
  /// The bound on the entropy rate's error (≤ 1e-12), up to rounding.
  double entropy_rate_error() const { return entropy_rate_error_; }
  /// `count` symbols of one stationary chain: a pure function of config.seed and the stream's name.
  std::vector<int32_t> sample(int64_t count, const std::string& stream) const;

 private:
  void solve_entropy_rate();
  void solve_stationary();

  MarkovConfig config_;
  int64_t contexts_ = 0;
  std::vector<double> transitions_, stationary_;
  double entropy_rate_ = 0, entropy_rate_error_ = 0;
};

}  // namespace headroom::tasks
