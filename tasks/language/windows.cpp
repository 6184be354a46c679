#include "tasks/language/windows.h"

#include <algorithm>

#include "engine/error.h"

namespace headroom::tasks {

std::vector<int64_t> random_windows(int64_t available, int64_t width, int64_t sequences, engine::Rng& rng) {
  require(available >= width, "windows of {} tokens: the text has {}", width, available);
  return engine::random_integers({sequences}, rng, "data", 0, available - width + 1).to_vector<int64_t>();
}

std::vector<int64_t> even_windows(int64_t available, int64_t width, int64_t length, int64_t sequences) {
  require(available >= width, "windows of {} tokens: the text has {}", width, available);
  const int64_t whole = (available - width) / length + 1, count = std::min(whole, sequences);
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < count; ++i) starts.push_back(i * whole / count * length);
  return starts;
}

engine::Tensor gather_windows(TokenSpan tokens, const std::vector<int64_t>& starts, int64_t shift, int64_t length) {
  const engine::Tensor out =
      engine::Tensor::empty({static_cast<int64_t>(starts.size()), length}, engine::DType::i64);  // (B, T)
  auto* to = out.mutable_data<int64_t>();
  for (const int64_t start : starts) {
    const auto from = tokens.begin() + start + shift;
    to = std::copy(from, from + length, to);
  }
  return out;
}

}  // namespace headroom::tasks
