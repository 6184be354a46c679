#pragma once
#include <cstdint>
#include <vector>

#include "engine/exception.h"
#include "engine/rng.h"
#include "engine/sampling/choose_token.h"
#include "engine/tensor.h"

namespace headroom::models {

/// How the next token is chosen. Temperature 0 takes the likeliest; the lowest id wins a tie.
struct SamplingOptions {
  double temperature = 0;         ///< logits are divided by it
  int64_t top_k = 0;              ///< keep only the top_k likeliest; 0: all
  double top_p = 1;               ///< keep only the likeliest until their probabilities reach this sum
  double min_p = 0;               ///< keep only tokens with at least this share of the likeliest's probability
  double repetition_penalty = 1;  ///< divides positive logits of past tokens, multiplies others (Keskar et al., "CTRL",
                                  ///< 2019)
  uint64_t seed = 0;
};

/// The arguments of engine::choose_token() for one token.
struct TokenDraw {
  engine::TokenFilter filter;
  engine::RngKey key{};
};

/// Thrown if a logit is NaN or +inf.
class NoLogit : public Error {
 public:
  using Error::Error;
};

/// Chooses tokens. Applies the penalty, then temperature, then the filters in the order above, each on the tokens the
/// last one left. The same seed and logits give the same tokens.
class Sampler {
 public:
  /// Throws Error naming an option out of its range.
  explicit Sampler(const SamplingOptions& options);

  /// Chooses a token from logits f32 (vocab). `history`: the tokens so far, including the prompt. Logits on a GPU stay
  /// there and only the token is read back, unless a penalty changes them. Throws NoLogit naming the token, and Error
  /// if all are -inf.
  int64_t next(const engine::Tensor& logits, const std::vector<int32_t>& history);
  int64_t next(const float* logits, int64_t vocab, const std::vector<int32_t>& history);

  /// The parts of next(), for callers that choose the token themselves. True if logits depend on past tokens:
  bool has_penalty() const { return options_.repetition_penalty != 1; }
  /// The settings of the next choice; advances the random numbers.
  TokenDraw draw();
  /// Checks the token chosen from `logits`. Throws as next() if there is none.
  static int64_t checked(int64_t token, const engine::Tensor& logits);

 private:
  SamplingOptions options_;
  engine::Rng rng_;
};

}  // namespace headroom::models
