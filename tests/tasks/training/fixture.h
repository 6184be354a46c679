#pragma once
#include <string>
#include <vector>

#include "engine/context.h"
#include "engine/device_stream.h"
#include "engine/transfer.h"
#include "tasks/linear_functional.h"
#include "tasks/training/trainer.h"
#include "tests/support/catch.h"

// A small model, a task for it, and a training of the two, on any device.
namespace headroom::testing {

inline constexpr engine::Device cuda{engine::Device::Kind::cuda, 0};

/// Whether there is no GPU and no emulator: the test is then skipped.
inline bool lacks_cuda() {
  if (engine::has_device(engine::Device::Kind::cuda)) return false;
  skip("no CUDA device");
  return true;
}

inline models::TransformerConfig small_model(double dropout = 0.1) {
  models::TransformerConfig config;
  config.layers = 1;
  config.width = 16;
  config.groups = {{.heads = 2, .qk_dim = 8, .v_dim = 8}};
  config.max_length = 8;
  config.input_dim = config.output_dim = 4;
  config.dropout = dropout;
  return config;
}

inline const tasks::LinearFunctional& small_task() {
  static const tasks::LinearFunctional task({.kernel = {.kind = "n-gram", .n = 2}, .token_dim = 4, .length = 8});
  return task;
}

inline tasks::TrainerConfig small_settings(engine::Device device = engine::cpu) {
  tasks::TrainerConfig config;
  config.optimizer.lr = 1e-2;
  config.schedule = {{.kind = "warmup", .warmup = 5}, {.kind = "reduce_on_plateau", .factor = 0.5, .patience = 0}};
  config.clip = 0.5;
  config.batch = device.is_cpu() ? 8 : 4;
  config.device = device;
  config.read_every = device.is_cpu() ? 1 : 4;
  return config;
}

/// A model and its trainer, on a stream of their own.
struct Training {
  engine::DeviceStream stream;
  engine::StreamScope on_stream;
  engine::Rng rng{3};
  models::Transformer model;
  std::vector<std::string> notes;
  tasks::Trainer trainer;

  explicit Training(const tasks::TrainerConfig& config = small_settings(),
                    const tasks::Objective& objective = small_task(),
                    const models::TransformerConfig& shape = small_model())
      : stream(config.device),
        on_stream(stream.handle()),
        model(drawn(shape, config.device, rng)),
        trainer(model, objective, noting(config), rng) {}

  Training& run(int64_t steps) {
    for (int64_t i = 0; i < steps; ++i) trainer.step();
    return *this;
  }
  /// The loss of each of the next steps.
  std::vector<double> losses(int64_t steps) {
    std::vector<double> all;
    for (int64_t i = 0; i < steps; ++i) {
      trainer.step();
      all.push_back(trainer.read_state().loss);
    }
    return all;
  }
  std::vector<float> weights() const {
    std::vector<float> all;
    for (const auto& [name, value] : trainer.weights())
      for (const float x : value.to_vector<float>()) all.push_back(x);
    return all;
  }

 private:
  static models::Transformer drawn(const models::TransformerConfig& shape, engine::Device device, engine::Rng& rng) {
    const engine::DeviceScope scope(device);
    return {shape, rng};
  }
  tasks::TrainerConfig noting(tasks::TrainerConfig config) {
    config.note = [this](const std::string& line) { notes.push_back(line); };
    return config;
  }
};

}  // namespace headroom::testing
