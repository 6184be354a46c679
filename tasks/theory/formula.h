#pragma once
#include <memory>

#include "tasks/task.h"

namespace headroom::tasks {

/// A task that is computed, not learnt: closed_form() says all there is, everything that feeds a training throws Error.
/// Its config struct has `static constexpr bool is_formula = true`.
class Formula : public Task {
 public:
  ModelInterface model_interface() const override;
  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override;
  Batch evaluation(Split split, int64_t sequences) const override;
  Var loss(const Var& output, const Batch& batch) const override;
  std::unique_ptr<Meter> meter() const override;
};

}  // namespace headroom::tasks
