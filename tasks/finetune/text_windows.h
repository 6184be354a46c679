#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "tasks/task.h"

namespace headroom::tasks {

/// Language modelling on a tokenised text: random windows of `context` tokens, with the tokens one later as targets.
/// With `bos`, for models trained with it, a window is that token and the `context` - 1 after it. A window's start
/// depends only on seed and step.
class TextWindows : public Objective {
 public:
  /// Throws Error if the text is too short for a window.
  TextWindows(std::vector<int32_t> tokens, int64_t context, std::optional<int64_t> bos = std::nullopt);

  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override;
  /// output (B, T, V) → scalar: cross-entropy over all positions.
  Var loss(const Var& output, const Batch& batch) const override;
  /// The windows that start at these tokens of the text: input and target (B, T).
  Batch at(const std::vector<int64_t>& first) const;
  /// The first token of each window of a step.
  std::vector<int64_t> starts(int64_t step, int64_t sequences, uint64_t seed) const;
  const std::vector<int32_t>& tokens() const { return tokens_; }

 private:
  /// Tokens of the text in a window and its targets.
  int64_t own() const { return context_ + (bos_ ? 0 : 1); }

  std::vector<int32_t> tokens_;
  int64_t context_;
  std::optional<int64_t> bos_;
};

}  // namespace headroom::tasks
