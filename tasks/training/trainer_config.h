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
  std::vector<autograd::ScheduleConfig> schedule{};  ///< factors on optimizer.lr; none: constant
  double clip = 0;                                   ///< largest global gradient norm; 0: no clipping
  int64_t batch = 32;                                ///< sequences per step, new ones each time
  int64_t accumulate = 1;                            ///< number of parts of a batch; their gradients add up
  /// A power of two that divides `batch`. Above 1, the gradient is the sum of that many parts along a binary tree, run
  /// one at a time, each with its own dropout; `accumulate` must then be 1.
  int64_t parts = 1;
  Ranks* ranks = nullptr;  ///< processes that share the parts evenly, with the bits of one process; null: just this one
  std::vector<std::string> decay{}, no_decay{};  ///< patterns of parameter names that override the modules' choice
  bool measures_norm = true;  ///< false: without clip, measures no gradient norm and does not check that it is finite
  /// The model reads bf16 copies of f32 masters, which the optimizer updates; activations are then bf16: docs/cuda.md.
  bool bf16_weights = false;
  engine::Device device = engine::cpu;
  int64_t read_every = 1;  ///< steps between the host's reads of the step's state
  bool records = true;     ///< false: never replay steps, even if the device can: see Trainer
  /// Called once, with the reason, if a device's steps cannot be recorded and so run op by op.
  std::function<void(const std::string&)> note{};
};

/// True if training in that precision uses bf16_weights: on a GPU, and on a CPU that multiplies bf16. Other CPUs
/// emulate it (engine::PrecisionScope).
inline bool has_bf16_weights(engine::Precision precision, engine::Device device) {
  return precision == engine::Precision::bf16 && (!device.is_cpu() || engine::has_bf16_pairs());
}

}  // namespace headroom::tasks
