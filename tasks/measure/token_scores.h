#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "models/transformer.h"

namespace headroom::tasks {

/// A token of a text and its log-probability after the tokens before it.
struct TokenScore {
  int32_t token = 0;
  double log_p = 0;  ///< nats
  std::vector<std::pair<int32_t, double>>
      top{};  ///< the likeliest tokens there, the likeliest first; the lowest id of a tie
};

/// The score of `token` under logits (V, f32), with the `top` likeliest tokens beside it.
TokenScore score_of(const float* logits, int64_t vocab, int32_t token, int64_t top);

/// What a model makes of a text.
struct TextScores {
  std::vector<TokenScore> tokens;  ///< of all tokens but the first, which follows nothing
  engine::Tensor last;             ///< logits f32 (V) after the last token
};

/// Scores a text (T ≥ 1 tokens) in one pass, without gradients. Throws Error as hidden_states() and for_each_logits().
TextScores score_text(const models::Transformer& model, const std::vector<int32_t>& tokens, int64_t top);

}  // namespace headroom::tasks
