#include "tasks/finetune/text_windows.h"

#include "autograd/ops.h"
#include "engine/error.h"
#include "tasks/language/windows.h"

namespace headroom::tasks {

TextWindows::TextWindows(std::vector<int32_t> tokens, int64_t context) : tokens_(std::move(tokens)), context_(context) {
  require(context >= 1, "windows of {} tokens", context);
  require(static_cast<int64_t>(tokens_.size()) > context,
          "the text to train on has {} tokens; expected a window of {} and the token after it", tokens_.size(),
          context);
}

std::vector<int64_t> TextWindows::starts(int64_t step, int64_t sequences, uint64_t seed) const {
  engine::Rng rng(seed);
  rng.set_offsets({{"data", static_cast<uint64_t>(step) * static_cast<uint64_t>((sequences + 3) / 4 * 4)}});
  return random_windows(static_cast<int64_t>(tokens_.size()), context_ + 1, sequences, rng);
}

Batch TextWindows::train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const {
  const std::vector<int64_t> first = starts(step, sequences, rng.seed());
  return {.input = gather_windows(tokens_, first, 0, context_),    // (B, T)
          .target = gather_windows(tokens_, first, 1, context_)};  // (B, T)
}

Var TextWindows::loss(const Var& output, const Batch& batch) const {
  return autograd::cross_entropy(output, batch.target);
}

}  // namespace headroom::tasks
