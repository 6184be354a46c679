#pragma once
#include <vector>

#include "experiments/studies/run/runner.h"
#include "experiments/studies/run/work_pool.h"

namespace headroom::experiments {

/// The time of a training step on an H100, estimated from its counts.
struct StepSeconds {
  double alone = 0;  ///< of a trial that has the card for itself
  double busy = 0;  ///< the least that its products and bytes take: the rest is a kernel's own time, which trials share
};

/// Zero for a formula. Throws Error for a model that cannot be built.
StepSeconds step_seconds(const TrialConfig& config, const tasks::Work& work);

/// Threads of all trials together.
int threads_of(const RunOptions& options);

/// The number of trials to train at once, before memory is looked at (check_before_training()): 1 with ranks or if a
/// trial is timed, else --jobs, else one a thread, or 1 of measurements that would wait for each other. On a device
/// without --jobs 4 to 16 of them, more for smaller models, and not more than threads, which draw their batches.
int wanted_jobs(const std::vector<const PlannedTrial*>& trials, const RunOptions& options, WorkPool& pool);

}  // namespace headroom::experiments
