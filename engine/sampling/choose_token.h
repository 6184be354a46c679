#pragma once
#include "engine/dispatch/op.h"
#include "engine/rng.h"

namespace headroom::engine {

/// The filters for candidates; each acts on what the previous one left.
struct TokenFilter {
  double temperature = 0;  ///< divides logits, before the filters; 0: takes the likeliest
  int64_t top_k = 0;       ///< keep only the top_k likeliest; 0: all
  double top_p = 1;        ///< keep only the likeliest until their probabilities reach this sum
  double min_p = 0;        ///< keep only tokens with at least this share of the likeliest's probability
};

/// Draws one of V tokens: logits f32 or f64 (V) → i64 (), on the logits' device, with one uniform number of `key` (none
/// at temperature 0). Ranks candidates from the likeliest; the lowest id wins a tie. Returns -1 if a logit is NaN or
/// +inf, or all are -inf. CUDA counts probabilities in units of 2^-40 of the likeliest's, so that sums do not depend on
/// their order; elsewhere they are f64. Throws Error unless logits are a non-empty flat list.
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
