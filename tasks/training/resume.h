#pragma once
#include <cstdint>
#include <filesystem>

#include "autograd/optim/optimizer.h"
#include "autograd/optim/schedule.h"
#include "engine/rng.h"
#include "tasks/training/checkpoint.h"

namespace headroom::tasks {

/// Everything that a training step changes: the weights of the optimizer's arena ("model." before their names; views),
/// its moments ("optimizer."), the random streams with their seed, the schedule's state (null: none), and the number of
/// steps done.
Checkpoint checkpoint_of(const autograd::Optimizer& optimizer, const engine::Rng& rng, int64_t step,
                         const autograd::Schedule* schedule = nullptr);

/// Puts it all back, so that training continues to the same bits, and returns the number of steps done. Throws Error
/// naming what is missing or does not fit, or the seed when it is another; weights and moments are as before then.
int64_t restore(const Checkpoint& checkpoint, autograd::Optimizer& optimizer, engine::Rng& rng,
                autograd::Schedule* schedule = nullptr);

/// load_checkpoint() of steps to go on from. Throws Error, too, where the optimizer's weights are on the CPU and the
/// steps were computed there by kernels whose bits differ from those of this process (engine::kernel_level()).
Checkpoint load_to_go_on(const std::filesystem::path& path, const std::string& owner,
                         const autograd::Optimizer& optimizer);

/// Writes a training to one file, which appears whole or not at all, with a checksum:
///
///     for (int64_t step = resume_training(file, *optimizer, rng); step < steps;) {
///       …                                                                            // forward, backward, update
///       if (++step % 100 == 0) save_training(file, *optimizer, rng, step);
///     }
///
/// Killed at any moment and started again, it continues to the same bits. Throws Error naming the file.
void save_training(const std::filesystem::path& path, const autograd::Optimizer& optimizer, const engine::Rng& rng,
                   int64_t step, const autograd::Schedule* schedule = nullptr);

/// Takes over what save_training() or a Trainer wrote, and returns the number of steps done: 0, and nothing is changed,
/// where there is no such file. Throws Error as load_to_go_on() and restore().
int64_t resume_training(const std::filesystem::path& path, autograd::Optimizer& optimizer, engine::Rng& rng,
                        autograd::Schedule* schedule = nullptr);

}  // namespace headroom::tasks
