#pragma once
#include <cstdint>
#include <filesystem>

#include "autograd/optim/optimizer.h"
#include "autograd/optim/schedule.h"
#include "engine/rng.h"
#include "tasks/training/checkpoint.h"

namespace headroom::tasks {

/// Everything a training step changes: weights in the optimizer's arena (names after "model."; views), its moments
/// ("optimizer."), the random streams with their seed, the schedule's state (null: none), and the number of steps done.
Checkpoint checkpoint_of(const autograd::Optimizer& optimizer, const engine::Rng& rng, int64_t step,
                         const autograd::Schedule* schedule = nullptr);

/// Restores it all, so that training continues with the same bits, and returns the number of steps done. Throws Error
/// naming anything that is missing or does not fit, or a different seed; weights and moments are then unchanged.
int64_t restore(const Checkpoint& checkpoint, autograd::Optimizer& optimizer, engine::Rng& rng,
                autograd::Schedule* schedule = nullptr);

/// load_checkpoint() for resuming. Also throws Error if the optimizer's weights are on the CPU and the steps ran there
/// on kernels whose bits differ from this process's (engine::kernel_level()).
Checkpoint load_to_go_on(const std::filesystem::path& path, const std::string& owner,
                         const autograd::Optimizer& optimizer);

/// Saves a training to one file, which appears whole or not at all, with a checksum:
///
///     for (int64_t step = resume_training(file, *optimizer, rng); step < steps;) {
///       …                                                                            // forward, backward, update
///       if (++step % 100 == 0) save_training(file, *optimizer, rng, step);
///     }
///
/// If killed at any moment and started again, it continues with the same bits. Throws Error naming the file.
void save_training(const std::filesystem::path& path, const autograd::Optimizer& optimizer, const engine::Rng& rng,
                   int64_t step, const autograd::Schedule* schedule = nullptr);

/// Loads the file of save_training() or a Trainer and returns the number of steps done; 0, changing nothing, if there
/// is no such file. Throws Error as load_to_go_on() and restore().
int64_t resume_training(const std::filesystem::path& path, autograd::Optimizer& optimizer, engine::Rng& rng,
                        autograd::Schedule* schedule = nullptr);

}  // namespace headroom::tasks
