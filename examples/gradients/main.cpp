// Autograd without a model class: a network of two layers learns a product, by hand-written steps of an optimizer.
#include <cstdio>

#include "headroom/autograd/ops.h"
#include "headroom/autograd/optim/optimizer.h"
#include "headroom/engine/rng.h"

using namespace headroom;
using autograd::Var;

int main() {
  engine::Rng rng(0);
  const auto normal = [&](const engine::Shape& shape, double std) {
    return engine::random_normal(shape, rng, "init", 0, std);
  };
  const Var w1(normal({32, 2}, 1), true), b1(engine::Tensor::zeros({32}), true);   // (32, 2), (32)
  const Var w2(normal({1, 32}, 0.2), true), b2(engine::Tensor::zeros({1}), true);  // (1, 32), (1)
  // Values and gradients move into one buffer each; weight decay applies where the last field says so.
  const autograd::ParameterArena arena({{"w1", w1}, {"b1", b1, false}, {"w2", w2}, {"b2", b2, false}});
  const auto optimizer = autograd::make_optimizer({.kind = "adamw", .lr = 1e-2}, arena);

  double loss = 0;
  for (int step = 0; step < 1000; ++step) {
    const Var x(engine::random_uniform({64, 2}, rng, "data", -1, 1));                                   // (64, 2)
    const Var target(autograd::mul(autograd::slice(x, 1, 0, 1), autograd::slice(x, 1, 1, 2)).value());  // (64, 1)
    const Var y = autograd::linear(autograd::gelu(autograd::linear(x, w1, b1)), w2, b2);                // (64, 1)
    const Var error = autograd::mse(y, target);
    arena.zero_grad();
    error.backward();
    optimizer->step(1e-2, 1.0);  // learning rate, largest norm of the gradient
    loss = error.value().item();
  }
  std::printf("loss %.5f\n", loss);
  return loss < 1e-3 ? 0 : 1;
}
