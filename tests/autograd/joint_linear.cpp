// Several layers with one input as one product, and split(), which takes its result apart.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "autograd/gradcheck.h"
#include "autograd/ops.h"
#include "autograd/optim/arena.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/rng.h"
#include "engine/transfer.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::autograd;

namespace {

Var normal_leaf(const Shape& shape, uint64_t seed, engine::DType dtype = engine::DType::f32) {
  return Var(engine::random_normal(shape, 0, 1, {seed, 0, 0}, dtype), true);
}

bool equal_bytes(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous(), y = b.contiguous();
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         std::memcmp(x.raw(), y.raw(), static_cast<size_t>(x.numel() * size_of(x.dtype()))) == 0;
}

/// Three layers of one input, neighbours in an arena or not.
struct Layers {
  Var x = normal_leaf({2, 9, 32}, 1);
  std::vector<int64_t> widths;
  std::vector<Var> weights, biases;
  std::optional<ParameterArena> arena;

  explicit Layers(bool in_arena, std::vector<int64_t> outs = {24, 16, 16}, const ArenaOptions& options = {})
      : widths(std::move(outs)) {
    std::vector<Parameter> parameters;
    for (const int64_t out : widths) {
      const auto seed = static_cast<uint64_t>(2 + 2 * weights.size());
      const bool joins = !weights.empty();
      weights.push_back(normal_leaf({out, 32}, seed));
      biases.push_back(normal_leaf({out}, seed + 1));
      parameters.push_back({"weight of " + std::to_string(seed), weights.back(), true, joins});
      parameters.push_back({"bias of " + std::to_string(seed), biases.back(), false, joins});
    }
    if (!in_arena) return;
    arena.emplace(parameters, options);
    x = Var(x.value().to(weights[0].value().dtype()).to(arena->device()), true);
  }
  /// The results, and two backward passes from them: the second adds to the gradients of the first.
  std::vector<Var> run(bool jointly) const {
    std::vector<Var> y;
    for (int pass = 0; pass < 2; ++pass) {
      y.clear();
      if (jointly) y = split(joint_linear(x, weights, biases), widths, -1);
      else
        for (size_t i = 0; i < weights.size(); ++i) y.push_back(linear(x, weights[i], biases[i]));
      (sum(y[0] * y[0]) + sum(y[1] * 3.0) + sum(y[2] * y[2] * y[2])).backward();
    }
    return y;
  }
};

}  // namespace

TEST_CASE("joint_linear: one product has the bytes of three, in an arena or not") {
  const Layers apart(false);
  const std::vector<Var> want = apart.run(false);
  for (const bool in_arena : {false, true}) {
    const Layers together(in_arena);
    CHECK(neighbours(together.weights).defined() == in_arena);
    const std::vector<Var> got = together.run(true);
    for (size_t i = 0; i < want.size(); ++i) {
      CHECK(equal_bytes(got[i].value(), want[i].value()));
      CHECK(equal_bytes(together.weights[i].grad(), apart.weights[i].grad()));
      CHECK(equal_bytes(together.biases[i].grad(), apart.biases[i].grad()));
    }
    // One sum over 56 outputs, in another order than three sums that are added.
    const std::vector<float> dx = together.x.grad().to_vector<float>(), want_dx = apart.x.grad().to_vector<float>();
    for (size_t i = 0; i < dx.size(); ++i) CHECK(dx[i] == Approx(want_dx[i]).epsilon(1e-4).margin(1e-2));
  }
}

TEST_CASE("joint_linear: gradients, with a part that is not used") {
  const auto f = [](const std::vector<Var>& in) {
    const std::vector<Var> y = split(joint_linear(in[0], {in[1], in[2]}, {in[3], in[4]}), {3, 1, 2}, -1);
    return y[0] * sum(y[2] * y[2]);
  };
  const auto result = gradcheck(f,
                                {normal_leaf({2, 3, 5}, 1, engine::DType::f64),
                                 normal_leaf({4, 5}, 2, engine::DType::f64), normal_leaf({2, 5}, 3, engine::DType::f64),
                                 normal_leaf({4}, 4, engine::DType::f64), normal_leaf({2}, 5, engine::DType::f64)},
                                {1, 2, 0});
  INFO(result.message);
  CHECK(result.ok);
}

TEST_CASE("neighbours: of one arena, in its order and without a gap") {
  const Layers layers(true);
  const std::vector<Var>& w = layers.weights;
  CHECK(neighbours(w).shape() == Shape{56, 32});
  CHECK(neighbours(w).raw() == w[0].value().raw());
  CHECK_FALSE(neighbours(std::vector<Var>{w[1], w[0]}).defined());
  CHECK_FALSE(neighbours(std::vector<Var>{w[0], w[2]}).defined());
  CHECK_FALSE(neighbours(std::vector<Var>{w[2], layers.biases[0]}).defined());
  CHECK_FALSE(neighbours(std::vector<Var>{w[0], normal_leaf({16, 32}, 9)}).defined());
}

TEST_CASE("joint_linear: on a GPU layers of any width are neighbours, and have the values and gradients of three") {
  const engine::Device cuda{engine::Device::Kind::cuda, 0};
  if (!engine::has_device(cuda.kind)) return testing::skip("no CUDA device");
  const auto close = [](const Tensor& got, const Tensor& want, double tolerance) {
    const std::vector<float> a = got.to_vector<float>(), b = want.to_vector<float>();
    REQUIRE(a.size() == b.size());
    double largest = 0;
    for (const float x : b) largest = std::max(largest, std::fabs(static_cast<double>(x)));
    for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).margin(tolerance * largest));
  };
  for (const bool has_copies : {false, true}) {
    const double tolerance = has_copies ? 0.01 : 1e-6;  // the sum of dx is rounded to bf16 once or three times
    const Layers one(true, {5, 3, 7}, {cuda, has_copies}), three(true, {5, 3, 7}, {cuda, has_copies});
    const Tensor joint = neighbours(one.weights);  // (15, 32)
    REQUIRE(joint.shape() == Shape{15, 32});
    REQUIRE(neighbours(one.biases).shape() == Shape{15});
    CHECK(one.arena->offset(3) % 64 == 0);
    CHECK(joint.with_padding(16, 32, true).defined() == has_copies);
    CHECK_FALSE(one.weights[0].value().with_padding(8, 32, false).defined());  // the second layer lies there
    const std::vector<Var> got = one.run(true), want = three.run(false);
    for (size_t i = 0; i < want.size(); ++i) {
      close(got[i].value(), want[i].value(), tolerance);
      close(one.weights[i].grad(), three.weights[i].grad(), tolerance);
      close(one.biases[i].grad(), three.biases[i].grad(), tolerance);
    }
    close(one.x.grad(), three.x.grad(), tolerance);
  }
}

TEST_CASE("split: a vjp may write a part's gradient to its place in the whole's") {
  const auto doubled = [](const Var& x) {
    return record("doubled", engine::add(x.value(), x.value()), {x}, [](const Tensor& dy, const Needs& needs) {
      const Tensor place = needs.place(0);
      REQUIRE(place.defined());
      engine::copy_inplace(place, engine::add(dy, dy));
      return std::vector{place};
    });
  };
  const Var x = normal_leaf({3, 5}, 1);
  const std::vector<Var> parts = split(x * 1.0, {2, 1, 2}, 1);
  (sum(doubled(parts[0])) + sum(parts[2] * 5.0)).backward();
  const std::vector<float> row{2, 2, 0, 5, 5};
  for (int64_t i = 0; i < 3; ++i) CHECK(x.grad().slice(0, i, i + 1).to_vector<float>() == row);
}
