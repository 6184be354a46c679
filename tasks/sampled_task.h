#pragma once
#include <string>

#include "tasks/task.h"

namespace headroom::tasks {

/// A task that draws its sequences from random streams: training from the seed's "data", the two fixed sets from
/// "validation" and "test" of evaluation_seed.
class SampledTask : public Task {
 public:
  Batch train_batch(int64_t step, int64_t sequences, engine::Rng& rng) const override;
  Batch evaluation(Split split, int64_t sequences) const override;
  /// Draws `sequences` new sequences from a named stream of `rng`.
  virtual Batch sample(int64_t sequences, engine::Rng& rng, const std::string& stream) const = 0;
};

}  // namespace headroom::tasks
