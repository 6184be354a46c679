// A recurrent network on characters, layers drawn and trained without a model class of the library: it learns a
// sentence, then writes on from its first letters.
#include <cstdio>
#include <string>

#include "headroom/headroom.h"

using namespace headroom;
using autograd::Var;
using engine::Tensor;

const std::string text = "the heads of a layer are as many as the lags that it attends to. ";
constexpr int64_t width = 64, letters = 128;

struct CharRnn : models::Module {
  models::DrawnWeights weights;
  models::Embedding tokens;
  models::Projection in, again, out;

  explicit CharRnn(engine::Rng& rng)
      : weights(rng),
        tokens(letters, width, 1, weights.at("tokens")),
        in({.in = width, .out = width, .bias = true}, weights.at("in")),
        again({.in = width, .out = width}, weights.at("again")),
        out({.in = width, .out = letters, .bias = true}, weights.at("out")) {
    add_child("tokens", tokens), add_child("in", in), add_child("again", again), add_child("out", out);
  }

  Var forward(const Tensor& input) const {            // i64 (B, T)
    const Var x = in.forward(tokens.forward(input));  // (B, T, C)
    Var h = Tensor::zeros({input.dim(0), width});     // (B, C)
    std::vector<Var> states;
    for (int64_t t = 0; t < input.dim(1); ++t)
      states.push_back(h = autograd::tanh(autograd::select(x, 1, t) + again.forward(h)));
    return out.forward(autograd::stack(states, 1));  // (B, T, V)
  }
};

struct NextLetter : tasks::Objective {
  tasks::Batch train_batch(int64_t, int64_t sequences, engine::Rng& rng) const override {
    const int64_t length = 32, size = std::ssize(text);
    const auto starts = engine::random_integers({sequences}, rng, "data", 0, size).to_vector<int64_t>();
    std::vector<int64_t> input, target;
    for (const int64_t start : starts)
      for (int64_t t = 0; t < length; ++t)
        input.push_back(text[size_t((start + t) % size)]), target.push_back(text[size_t((start + t + 1) % size)]);
    return {Tensor::from({sequences, length}, input), Tensor::from({sequences, length}, target)};
  }
  Var loss(const Var& output, const tasks::Batch& batch) const override {
    return autograd::cross_entropy(output, batch.target);
  }
};

int main() {
  engine::Rng rng(0);
  const CharRnn model(rng);
  const NextLetter objective;
  const auto forward = [&](const Tensor& input, const models::ForwardContext&) { return model.forward(input); };
  tasks::Trainer trainer(model, forward, objective, {.optimizer = {.lr = 3e-3}, .clip = 1}, rng);
  while (trainer.steps_done() < 300) trainer.step();
  std::printf("loss %.4f\n", trainer.state().loss);

  std::string written = text.substr(0, 10);
  const autograd::NoGrad no_grad;
  while (written.size() < 64) {
    const std::vector<int64_t> so_far(written.begin(), written.end());
    const Var logits = model.forward(Tensor::from({1, std::ssize(so_far)}, so_far));  // (1, T, V)
    written += char(autograd::argmax(logits[0][-1]).item());
  }
  std::printf("%s\n", written.c_str());
  return written == text.substr(0, 64) ? 0 : 1;
}
