#include "tasks/sampled_task.h"

namespace headroom::tasks {

Batch SampledTask::train_batch(int64_t, int64_t sequences, engine::Rng& rng) const {
  return sample(sequences, rng, "data");
}

Batch SampledTask::evaluation(Split split, int64_t sequences) const {
  engine::Rng rng(evaluation_seed);
  return sample(sequences, rng, split == Split::validation ? "validation" : "test");
}

}  // namespace headroom::tasks
