// A vision transformer from single layers: it tells in which quarter of a noisy image a bright square lies. Trained in
// two groups: the readout with a rate of its own, both clipped by one norm.
#include <cstdio>

#include "headroom/headroom.h"

using namespace headroom;
using autograd::Var;
using engine::Tensor;

constexpr int64_t side = 16, patch = 4, tokens = (side / patch) * (side / patch), width = 32, heads = 4, classes = 4;

struct Layer : models::Module {
  models::NormLayer norm_a, norm_b;
  models::Projection qkv, o, up, down;

  explicit Layer(const models::WeightScope& at)
      : norm_a(models::Norm::layer_norm, width, 1e-5, at.at("norm_a")),
        norm_b(models::Norm::layer_norm, width, 1e-5, at.at("norm_b")),
        qkv({.in = width, .out = 3 * width}, at.at("qkv")),
        o({.in = width, .out = width}, at.at("o")),
        up({.in = width, .out = 4 * width, .bias = true}, at.at("up")),
        down({.in = 4 * width, .out = width, .bias = true}, at.at("down")) {
    add_child("norm_a", norm_a), add_child("norm_b", norm_b), add_child("qkv", qkv);
    add_child("o", o), add_child("up", up), add_child("down", down);
  }

  Var forward(const Var& x) const {  // (B, T, C)
    const auto parts = autograd::chunk(
        autograd::reshape(qkv.forward(norm_a.forward(x)), {-1, tokens, 3 * heads, width / heads}), 3, 2);
    const Var attended = autograd::attention(parts[0], parts[1], parts[2]);  // (B, T, H, C / H)
    const Var y = x + o.forward(autograd::reshape(attended, {-1, tokens, width}));
    return y + down.forward(autograd::gelu(up.forward(norm_b.forward(y))));
  }
};

struct Vit : models::Module {
  models::DrawnWeights weights;
  models::Projection embed, readout;
  Var positions;
  Layer first, second;

  explicit Vit(engine::Rng& rng)
      : weights(rng),
        embed({.in = patch * patch, .out = width, .bias = true}, weights.at("embed")),
        readout({.in = width, .out = classes, .bias = true}, weights.at("readout")),
        positions(
            add_parameter("positions", Var(engine::random_normal({tokens, width}, rng, "init", 0, 0.02), true), false)),
        first(weights.at("first")),
        second(weights.at("second")) {
    add_child("embed", embed), add_child("first", first), add_child("second", second), add_child("readout", readout);
  }

  Var forward(const Tensor& images) const {  // (B, side, side)
    const int64_t n = side / patch;
    const Tensor patches =  // (B, T, patch²)
        images.reshape({-1, n, patch, n, patch}).permute({0, 1, 3, 2, 4}).reshape({-1, tokens, patch * patch});
    const Var h = second.forward(first.forward(embed.forward(patches) + positions));  // (B, T, C)
    return readout.forward(autograd::mean(h, {1}));                                   // (B, classes)
  }
};

/// Images (B, side, side) and the quarters (B) of their squares.
std::pair<Tensor, Tensor> draw(int64_t count, engine::Rng& rng) {
  const Tensor images = engine::random_normal({count, side, side}, rng, "images");
  const Tensor quarters = engine::random_integers({count}, rng, "labels", 0, classes);
  const Tensor corners = engine::random_integers({count, 2}, rng, "corners", 0, side / 2 - 2);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t quarter = int64_t(quarters[i].item());
    const int64_t row = quarter / 2 * (side / 2) + int64_t(corners[i][0].item());
    const int64_t column = quarter % 2 * (side / 2) + int64_t(corners[i][1].item());
    const Tensor square = images[i].slice(0, row, row + 3).slice(1, column, column + 3);
    engine::copy_inplace(square, square + 4);
  }
  return {images, quarters};
}

int main() {
  engine::Rng rng(0);
  const Vit model(rng);
  std::vector<autograd::Parameter> slow, fast;
  for (const autograd::Parameter& parameter : model.parameters())
    (parameter.name.starts_with("readout") ? fast : slow).push_back(parameter);
  const auto one = autograd::make_optimizer({.kind = "adamw"}, autograd::ParameterArena(slow));
  const auto two = autograd::make_optimizer({.kind = "adamw"}, autograd::ParameterArena(fast));
  for (int step = 0; step < 500; ++step) {
    const auto [images, quarters] = draw(32, rng);
    one->arena().zero_grad(), two->arena().zero_grad();
    autograd::cross_entropy(model.forward(images), quarters).backward();
    autograd::clip_gradients({one->arena(), two->arena()}, 1);
    one->step(3e-3), two->step(1e-2);
  }
  const auto [images, quarters] = draw(500, rng);
  const autograd::NoGrad no_grad;
  const Tensor hits = autograd::equal(autograd::argmax(model.forward(images), {-1}), quarters);
  const double share = engine::sum(hits.to(engine::DType::f32), {}, false).item() / 500;
  std::printf("right: %.1f %%\n", 100 * share);
  return share > 0.9 ? 0 : 1;
}
