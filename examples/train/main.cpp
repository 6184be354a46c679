// Trains a small Transformer to add up the two tokens before each one, and measures it on sequences it has not seen.
#include <cstdio>

#include "tasks/linear_functional.h"
#include "tasks/training/evaluation.h"
#include "tasks/training/trainer.h"

using namespace headroom;

int main() {
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
  for (int step = 0; step < 400; ++step)
    if (const auto& state = trainer.step(); state.step % 100 == 0)
      std::printf("step %d: loss %.4f, gradient norm %.3f\n", int(state.step), state.loss, state.gradient_norm);
  const auto test = tasks::evaluate(model, task, task.evaluation(tasks::Split::test, 256), 32).metrics;
  std::printf("relative error on the test set: %.4f\n", test.at("relative_mse"));
  trainer.save("trained.safetensors");  // trainer.load() of the same model goes on from here, to the same bits
}
