#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

struct ClassScores {
  Tensor nats;          ///< f64 (…): −ln of the target's probability
  Tensor is_likeliest;  ///< bool (…): the target has the largest logit; the first wins a tie
};

/// Scores the softmax of logits (…, V) against one class per row, on the logits' device:
///
///   nats = log Σ_v e^(x_v − max x) + max x − x_t   in f64, t the row's target
///
/// logits f32, f64 or bf16, V ≥ 1, targets i64 (…) → (…). A target outside [0, V) gives NaN nats and is not the
/// likeliest; its row is not read. A row with NaN or +inf, or with only -inf, gives NaN nats. Equally spaced rows are
/// read in place. The order of additions depends only on V and that spacing; CUDA's differs from the CPU's. Throws
/// Error if the shapes do not fit.
ClassScores class_scores(const Tensor& logits, const Tensor& targets);

/// A checked call.
struct ClassScoresCall {
  Tensor logits, targets;
  ClassScores out{};
  auto operands() { return std::array{real("logits", logits), index("targets", targets)}; }
  Work work() const {
    return {.exponentials = static_cast<double>(logits.numel()),
            .bytes = bytes_of(logits) + bytes_of(targets) + bytes_of(out.nats) + bytes_of(out.is_likeliest)};
  }
};
extern Op<ClassScoresCall> class_scores_op;

}  // namespace headroom::engine
