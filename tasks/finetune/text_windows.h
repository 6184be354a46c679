#pragma once
#include <cstdint>
#include <vector>

#include "tasks/task.h"

namespace headroom::tasks {

/// Language modelling on a tokenised text: windows of `context` tokens from anywhere in it, each with the tokens one
/// later as targets. Where a window begins is a function of seed and step alone.
class TextWindows : public Objective {
 public:
  /// Throws Error when the text is too short for a window.
  TextWindows(std::vector<int32_t> tokens, int64_t context);

  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override;
  /// output (B, T, V) → scalar: cross-entropy over all positions.
  Var loss(const Var& output, const Batch& batch) const override;
  /// The first token of each window of a step.
  std::vector<int64_t> starts(int64_t step, int64_t sequences, uint64_t seed) const;
  const std::vector<int32_t>& tokens() const { return tokens_; }

 private:
  std::vector<int32_t> tokens_;
  int64_t context_;
};

}  // namespace headroom::tasks
