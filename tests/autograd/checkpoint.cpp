#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/ops/elementwise/binary.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::autograd;

namespace {

Var random_leaf(const Shape& shape, uint64_t seed) {
  return Var(engine::random_normal(shape, 0, 1, {seed, 0, 0}), true);
}
std::vector<float> bits_of(const Tensor& x) { return x.to_vector<float>(); }

struct Gradients {
  std::vector<float> value, x, weight;
};

/// Two blocks of linear, gelu and dropout, each plain or as a checkpoint; the second uses its input twice.
Gradients two_blocks(bool checkpointed) {
  const Var x = random_leaf({6, 8}, 1), weight = random_leaf({8, 8}, 2);
  engine::Rng rng(3);
  const auto block = [&](const Var& in) {
    const engine::RngKey key = rng.take("dropout", in.value().numel());
    const auto f = [weight, key](const std::vector<Var>& v) {
      return v[0] + dropout(gelu(linear(v[0], weight)), 0.3, key);
    };
    return checkpointed ? checkpoint(f, {in}) : f({in});
  };
  const Var y = block(block(x));
  y.backward(engine::random_normal({6, 8}, 0, 1, {4, 0, 0}));
  return {bits_of(y.value()), bits_of(x.grad()), bits_of(weight.grad())};
}

}  // namespace

TEST_CASE("checkpoint: the bits of the plain block, with captured parameters and dropout") {
  const Gradients plain = two_blocks(false), again = two_blocks(true);
  CHECK(again.value == plain.value);
  CHECK(again.x == plain.x);
  CHECK(again.weight == plain.weight);
}

TEST_CASE("checkpoint: saved values are freed until backward") {
  const auto active = [](bool checkpointed) {
    const Var x = random_leaf({64, 256}, 1);
    const auto f = [](const std::vector<Var>& v) { return exp(tanh(exp(tanh(v[0])))); };
    const int64_t before = engine::allocator_stats().active;
    const Var y = checkpointed ? checkpoint(f, {x}) : f({x});
    return engine::allocator_stats().active - before;
  };
  CHECK(active(true) < active(false) / 2);
}

TEST_CASE("checkpoint: only captured leaves need a gradient, undefined inputs, nothing under no_grad") {
  const Var weight = random_leaf({3}, 1), x(Tensor::full({3}, 2));
  const auto f = [&](const std::vector<Var>& v) { return v[1].defined() ? v[1] : v[0] * weight; };
  sum(checkpoint(f, {x, Var()})).backward();
  CHECK(bits_of(weight.grad()) == std::vector<float>{2, 2, 2});
  const NoGrad no_grad;
  CHECK_FALSE(checkpoint(f, {x, Var()}).requires_grad());
}

TEST_CASE("checkpoint: the gradient of what it captures is final when it is done") {
  const Var x = random_leaf({3}, 1), weight = random_leaf({3}, 2);
  const auto inner = [&](const std::vector<Var>& v) { return v[0] * weight; };
  const auto outer = [&](const std::vector<Var>& v) { return checkpoint(inner, {v[0] * weight}); };
  std::vector<std::vector<float>> told;
  sum(checkpoint(outer, {x}) * weight).backward([&](const Var& leaf) {
    if (leaf.node() == weight.node()) told.push_back(bits_of(leaf.grad()));
  });
  CHECK((told == std::vector<std::vector<float>>{bits_of(weight.grad())}));
}

TEST_CASE("checkpoint: one inside the other") {
  const Var x = random_leaf({4}, 1), weight = random_leaf({4}, 2);
  const auto inner = [&](const std::vector<Var>& v) { return tanh(v[0] * weight); };
  const auto outer = [&](const std::vector<Var>& v) { return exp(checkpoint(inner, {v[0] * v[0]})); };
  sum(checkpoint(outer, {x})).backward();
  const std::vector<float> dx = bits_of(x.grad()), dweight = bits_of(weight.grad());
  x.zero_grad();
  weight.zero_grad();
  sum(exp(tanh(x * x * weight))).backward();
  CHECK(bits_of(x.grad()) == dx);
  CHECK(bits_of(weight.grad()) == dweight);
}

TEST_CASE("checkpoint: a captured value that changed, or is no leaf, is an error") {
  const Var x = random_leaf({3}, 1), weight = random_leaf({3}, 2);
  const Var loss = sum(checkpoint([&](const std::vector<Var>& v) { return v[0] * weight; }, {x}));
  engine::copy_inplace(weight.value(), Tensor::zeros({3}));
  CHECK_THROWS_WITH(loss.backward(), testing::contains("written in place"));
  const Tensor ids = Tensor::from<int64_t>({2}, {0, 1}), table = engine::random_normal({3, 4}, 0, 1, {3, 0, 0});
  const Var rows = sum(checkpoint([&](const std::vector<Var>& v) { return embedding(v[0], ids); }, {Var(table, true)}));
  engine::copy_inplace(ids, Tensor::from<int64_t>({2}, {2, 2}));
  CHECK_THROWS_WITH(rows.backward(), testing::contains("checkpoint's function gave another f32 (2, 4) than before"));
  const Var computed = exp(weight);
  CHECK_THROWS_WITH(checkpoint([&](const std::vector<Var>& v) { return v[0] * computed; }, {x}),
                    testing::contains("must be an input"));
}
