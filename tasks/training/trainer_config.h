#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autograd/optim/optimizer.h"
#include "autograd/optim/schedule.h"
#include "engine/context.h"
#include "engine/device.h"
#include "engine/isa.h"
#include "tasks/ranks/ranks.h"

namespace headroom::tasks {

/// Settings of a Trainer.
struct TrainerConfig {
  autograd::OptimizerConfig optimizer;
  std::vector<autograd::ScheduleConfig> schedule;  ///< factors on optimizer.lr; none: constant
  double clip = 0;                                 ///< largest global gradient norm; 0: no clipping
  int64_t batch = 32;                              ///< sequences, fresh ones each step
  int64_t accumulate = 1;                          ///< parts that a batch is cut into; their gradients add up
  /// A power of two that divides `batch`: above 1, the gradient is the sum over that many parts along one binary tree,
  /// one part at a time, and each part has a dropout of its own. `accumulate` is then 1.
  int64_t parts = 1;
  Ranks* ranks = nullptr;  ///< those that share the parts evenly, to the bits of one process; null: there is one
  std::vector<std::string> decay, no_decay;  ///< patterns of parameter names, in place of the modules' own choice
  bool measures_norm = true;  ///< false: no gradient norm, and so no check that it is finite, where clip is 0
  /// The model reads bf16 copies of f32 masters, which the optimizer updates; activations are then bf16: docs/cuda.md.
  bool bf16_weights = false;
  engine::Device device = engine::cpu;
  int64_t read_every = 1;  ///< steps between two looks of the host at the step's state
  bool records = true;     ///< whether a device that can replays its steps: see Trainer
  /// Called once, with why, where the steps of a device cannot be recorded: each is then queued op by op.
  std::function<void(const std::string&)> note{};
};

/// Whether a training in that precision has bf16_weights: on a GPU, and on a CPU that multiplies bf16. Another CPU
/// emulates it (engine::PrecisionScope).
inline bool has_bf16_weights(engine::Precision precision, engine::Device device) {
  return precision == engine::Precision::bf16 && (!device.is_cpu() || engine::has_bf16_pairs());
}

}  // namespace headroom::tasks
