#include "models/generation/decode_step.h"

#include <algorithm>
#include <vector>

namespace headroom::models {

size_t independent_rows(const Transformer& model) {
  return model.device().is_cpu() && !model.has_wide_matrices() ? rows_together : 1;
}

void decode_one_each(const Transformer& model, std::span<const NextToken> texts, size_t at_once) {
  for (; !texts.empty(); texts = texts.subspan(std::min(at_once, texts.size()))) {
    const auto own = texts.first(std::min(at_once, texts.size()));
    std::vector<int64_t> latest;
    std::vector<SequenceRows> rows;
    for (const NextToken& text : own) {
      latest.push_back(text.latest);
      rows.push_back({.begin = std::ssize(rows), .end = std::ssize(rows) + 1, .state = text.state});
    }
    const Tensor ids = Tensor::from({1, std::ssize(latest)}, latest);                                  // (1, T)
    const Tensor logits = model.decode_together(ids.to(model.device()), rows).to(engine::DType::f32);  // (1, T, V)
    for (size_t i = 0; i < own.size(); ++i)
      *own[i].logits = logits.slice(1, rows[i].begin, rows[i].end).reshape({logits.dim(2)});  // (V)
  }
}

}  // namespace headroom::models
