// The same training in a loop of one's own: forward, backward, update, and a file to go on from.
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "headroom/tasks/linear_functional.h"
#include "headroom/tasks/training/evaluation.h"
#include "headroom/tasks/training/resume.h"

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
  engine::Rng rng(0);
  const models::Transformer model(config, rng);

  const auto optimizer = autograd::make_optimizer({.kind = "adamw"}, autograd::ParameterArena(model.parameters()));
  for (int64_t step = tasks::resume_training("loop.safetensors", *optimizer, rng); step < 400;) {
    optimizer->arena().zero_grad();
    const tasks::Batch batch = task.train_batch(step, 32, rng);
    const auto output = model.forward(batch.input, {.training = true, .rng = &rng});  // (B, T, output_dim)
    task.loss(output, batch).backward();
    optimizer->step(1e-2, 1);  // learning rate, largest norm of the gradient
    if (++step % 100 == 0) tasks::save_training("loop.safetensors", *optimizer, rng, step);
    if (step == killed_after) std::raise(SIGKILL);
  }

  const auto test = tasks::evaluate(model, task, task.evaluation(tasks::Split::test, 256), 32).metrics;
  std::printf("relative error on the test set: %.9f\n", test.at("relative_mse"));
}
