// Trains a small Transformer to add up the two tokens before each one, and measures it on sequences it has not seen.
// Killed at any moment it goes on from its file to the same bits; `train 250` kills itself after 250 steps, to show it.
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "headroom/tasks/linear_functional.h"
#include "headroom/tasks/training/evaluation.h"
#include "headroom/tasks/training/trainer.h"

using namespace headroom;

int main(int argc, char** argv) {
  const int killed_after = argc > 1 ? std::atoi(argv[1]) : 0;
  const tasks::LinearFunctional task({.kernel = {.kind = "n-gram", .n = 2}, .token_dim = 4, .length = 16});
  models::TransformerConfig config;
  config.width = 32;
  config.groups = {{.heads = 2, .qk_dim = 16, .v_dim = 16}};
  config.max_length = 16;
  config.input_dim = config.output_dim = 4;
  config.causal = true;
  engine::Rng rng(0);  // draws the weights, then the data
  const models::Transformer model(config, rng);
  tasks::TrainerConfig settings;
  settings.optimizer.lr = 1e-2;
  settings.clip = 1;
  tasks::Trainer trainer(model, task, settings, rng);
  std::printf("from step %d\n", int(trainer.resume("training.safetensors")));  // 0 where there is no such file
  while (trainer.steps_done() < 400) {
    const auto& state = trainer.step();
    if (state.step == killed_after) std::raise(SIGKILL);
    if (state.step % 100 != 0) continue;
    std::printf("step %d: loss %.4f, gradient norm %.3f\n", int(state.step), state.loss, state.gradient_norm);
    trainer.save("training.safetensors");
  }
  const auto test = tasks::evaluate(model, task, task.evaluation(tasks::Split::test, 256), 32).metrics;
  std::printf("relative error on the test set: %.9f\n", test.at("relative_mse"));
}
