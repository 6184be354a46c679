#pragma once
#include <cstdint>
#include <vector>

#include "engine/exception.h"
#include "engine/rng.h"
#include "engine/sampling/choose_token.h"
#include "engine/tensor.h"

namespace headroom::models {

/// How the next token is chosen. With temperature 0 it is the likeliest, the one of the least id among equals.
struct SamplingOptions {
  double temperature = 0;         ///< logits are divided by it
  int64_t top_k = 0;              ///< only the top_k likeliest; 0: all
  double top_p = 1;               ///< only the likeliest until their probabilities reach this sum
  double min_p = 0;               ///< only those of at least this share of the likeliest's probability
  double repetition_penalty = 1;  ///< logits of tokens that occurred are divided by it where positive, else multiplied
                                  ///< (Keskar et al., "CTRL", 2019)
  uint64_t seed = 0;
};

/// The arguments of engine::choose_token() for one token.
struct TokenDraw {
  engine::TokenFilter filter;
  engine::RngKey key{};
};

/// A logit is NaN or +inf.
class NoLogit : public Error {
 public:
  using Error::Error;
};

/// Chooses tokens. The filters act one after the other, as listed above but the penalty before all, each on what the
/// one before left; temperature acts before them. The same seed and logits give the same tokens.
class Sampler {
 public:
  /// Throws Error naming an option out of its range.
  explicit Sampler(const SamplingOptions& options);

  /// A token for these logits, f32 (vocab). `history`: the tokens so far, prompt included. Logits on a GPU stay there,
  /// and only the token is read back, unless a penalty changes them. Throws NoLogit naming the token, and Error when
  /// all are -inf.
  int64_t next(const engine::Tensor& logits, const std::vector<int32_t>& history);
  int64_t next(const float* logits, int64_t vocab, const std::vector<int32_t>& history);

  /// next() in parts, for callers that choose the token themselves. Whether logits depend on what occurred:
  bool has_penalty() const { return options_.repetition_penalty != 1; }
  /// How the next token is chosen; the random numbers advance.
  TokenDraw draw();
  /// The token that was chosen from `logits`. Throws as next() if there is none.
  static int64_t checked(int64_t token, const engine::Tensor& logits);

 private:
  SamplingOptions options_;
  engine::Rng rng_;
};

}  // namespace headroom::models
