#include "tasks/measure/token_scores.h"

#include <algorithm>
#include <numeric>

#include "engine/ops/log_softmax/log_softmax.h"
#include "tasks/measure/language_model.h"

namespace headroom::tasks {

TokenScore score_of(const float* logits, int64_t vocab, int32_t token, int64_t top) {
  const double norm = engine::log_sum_exp(logits, vocab);
  TokenScore out{.token = token, .log_p = logits[token] - norm};
  if (top <= 0) return out;
  std::vector<int32_t> ids(static_cast<size_t>(vocab));
  std::iota(ids.begin(), ids.end(), 0);
  const auto end = ids.begin() + std::min(top, vocab);
  std::partial_sort(ids.begin(), end, ids.end(),
                    [&](int32_t a, int32_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
  for (auto id = ids.begin(); id != end; ++id) out.top.emplace_back(*id, logits[*id] - norm);
  return out;
}

TextScores score_text(const models::Transformer& model, const std::vector<int32_t>& tokens, int64_t top) {
  const int64_t length = std::ssize(tokens), vocab = model.config().vocab;
  const Tensor hidden = hidden_states(model, {{tokens.begin(), tokens.end()}}).front();  // (1, T, D)
  TextScores out{std::vector<TokenScore>(tokens.size() - 1), Tensor::empty({vocab}, engine::DType::f32)};
  float* const last = out.last.mutable_data<float>();
  for_each_logits(model, hidden, 0, length, [&](int64_t row, const float* logits) {
    if (row + 1 == length) std::copy_n(logits, vocab, last);
    else out.tokens[static_cast<size_t>(row)] = score_of(logits, vocab, tokens[static_cast<size_t>(row) + 1], top);
  });
  return out;
}

}  // namespace headroom::tasks
