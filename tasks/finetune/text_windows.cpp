#include "tasks/finetune/text_windows.h"

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/ops/concat/concat.h"
#include "tasks/language/windows.h"

namespace headroom::tasks {

TextWindows::TextWindows(std::vector<int32_t> tokens, int64_t context, std::optional<int64_t> bos)
    : tokens_(std::move(tokens)), context_(context), bos_(bos) {
  require(context >= 1, "windows of {} tokens", context);
  require(static_cast<int64_t>(tokens_.size()) > context,
          "the text to train on has {} tokens; expected a window of {} and the token after it", tokens_.size(),
          context);
}

std::vector<int64_t> TextWindows::starts(int64_t step, int64_t sequences, uint64_t seed) const {
  engine::Rng rng(seed);
  rng.set_offsets({{"data", static_cast<uint64_t>(step) * static_cast<uint64_t>((sequences + 3) / 4 * 4)}});
  return random_windows(static_cast<int64_t>(tokens_.size()), own(), sequences, rng);
}

Batch TextWindows::train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const {
  return at(starts(step, sequences, rng.seed()));
}

Batch TextWindows::at(const std::vector<int64_t>& first) const {
  const engine::Tensor target = gather_windows(tokens_, first, own() - context_, context_);  // (B, T)
  if (!bos_) return {.input = gather_windows(tokens_, first, 0, context_), .target = target};
  const engine::Tensor begin =
      engine::Tensor::full({std::ssize(first), 1}, static_cast<double>(*bos_), engine::DType::i64);  // (B, 1)
  return {.input = engine::concat({begin, gather_windows(tokens_, first, 0, context_ - 1)}, 1),
          .target = target};  // (B, T)
}

Var TextWindows::loss(const Var& output, const Batch& batch) const {
  return autograd::cross_entropy(output, batch.target);
}

}  // namespace headroom::tasks
