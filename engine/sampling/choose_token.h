#pragma once
#include "engine/dispatch/op.h"
#include "engine/rng.h"

namespace headroom::engine {

/// Which of the candidates may be drawn: each filter acts on what the one before left.
struct TokenFilter {
  double temperature = 0;  ///< logits are divided by it, before the filters; 0: the likeliest is taken
  int64_t top_k = 0;       ///< only the top_k likeliest; 0: all
  double top_p = 1;        ///< only the likeliest until their probabilities reach this sum
  double min_p = 0;        ///< only those of at least this share of the likeliest's probability
};

/// Draws one of V tokens: logits f32 or f64 (V) → i64 (), on the logits' device, by one uniform number of `key` (none
/// at temperature 0). Candidates count from the likeliest, the least id among equals. -1 where a logit is NaN or +inf,
/// or all are -inf. On CUDA probabilities are counted in units of 2^-40 of the likeliest's, so that the sums do not
/// depend on their order; elsewhere they are f64. Throws Error for an empty or other than flat list.
Tensor choose_token(const Tensor& logits, const TokenFilter& filter, const RngKey& key);

/// A checked call.
struct ChooseTokenCall {
  Tensor logits;
  TokenFilter filter;
  RngKey key;
  Tensor token{};
  auto operands() { return std::array{real("logits", logits)}; }
};
extern Op<ChooseTokenCall> choose_token_op;

}  // namespace headroom::engine
