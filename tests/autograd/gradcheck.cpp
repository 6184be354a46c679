#include "autograd/gradcheck.h"

#include <cmath>

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/elementwise/unary.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::autograd;

namespace {

const engine::RngKey key{1, 2, 0};

Var input(const Shape& shape, uint64_t seed, bool requires_grad = true) {
  return Var(engine::random_normal(shape, 0, 1, {seed, 0, 0}, engine::DType::f64), requires_grad);
}

/// e^x with `factor` times its gradient.
Var scaled_exp(const Var& x, double factor) {
  const Tensor y = engine::exp(x.value());
  return record(
      "scaled_exp", y, {x},
      [](const Tensor& dy, const Needs&, const Tensor& kept_y, double kept_factor) {
        return std::vector{engine::mul(engine::mul(dy, kept_y), Tensor::full({}, kept_factor, kept_y.dtype()))};
      },
      saved("y", y), factor);
}

}  // namespace

TEST_CASE("gradcheck: right gradients pass, and the inputs stay untouched") {
  const Var a = input({3, 4}, 1), b = input({4}, 2);
  const auto result = gradcheck([](const std::vector<Var>& v) { return exp(v[0]) * tanh(v[1]); }, {a, b}, key);
  CHECK(result.ok);
  CHECK(result.worst < 1e-8);
  CHECK_FALSE(a.grad().defined());
}

TEST_CASE("gradcheck: a gradient off by a millionth of a per cent passes, by a hundredth fails") {
  const auto off_by = [&](double error) {
    return gradcheck([=](const std::vector<Var>& v) { return scaled_exp(v[0], 1 + error); }, {input({5}, 1)}, key);
  };
  CHECK(off_by(1e-8).ok);
  const auto wrong = off_by(1e-4);
  CHECK_FALSE(wrong.ok);
  CHECK(wrong.worst > 1e-5);
  CHECK_THAT(wrong.message, testing::contains("input 0 (") && testing::contains("analytic"));
}

TEST_CASE("gradcheck: softmax without its sum, to which a cotangent of ones is blind, fails") {
  const auto zero_gradient = [](const std::vector<Var>& v) {
    return record("wrong_softmax", softmax(v[0].detach()).value(), {v[0]},
                  [](const Tensor& dy, const Needs&) { return std::vector{Tensor::zeros(dy.shape(), dy.dtype())}; });
  };
  CHECK_FALSE(gradcheck(zero_gradient, {input({2, 4}, 1)}, key).ok);
}

TEST_CASE("gradcheck: NaN, and a result that is cut off from its input, fail") {
  CHECK_FALSE(
      gradcheck([](const std::vector<Var>& v) { return scaled_exp(v[0], std::nan("")); }, {input({3}, 1)}, key).ok);
  CHECK_FALSE(gradcheck([](const std::vector<Var>& v) { return exp(v[0].detach()); }, {input({3}, 1)}, key).ok);
}

TEST_CASE("gradcheck: constants are left alone, f32 and nothing to check are errors") {
  const auto product = [](const std::vector<Var>& v) { return v[0] * v[1]; };
  CHECK(gradcheck(product, {input({3}, 1), input({3}, 2, false)}, key).ok);
  CHECK_THROWS_AS(gradcheck(product, {input({3}, 1, false), input({3}, 2, false)}, key), Error);
  const Var f32(Tensor::zeros({3}), true);
  CHECK_THROWS_WITH(gradcheck(product, {f32, f32}, key), testing::contains("not f64"));
}

TEST_CASE("gradcheck: with few elements of many, one wrong one still fails") {
  const auto wrong_at = [](const std::vector<Var>& v) {
    const Tensor y = engine::exp(v[0].value());
    return record(
        "wrong_at", y, {v[0]},
        [](const Tensor& dy, const Needs&, const Tensor& kept_y) {
          const Tensor dx = engine::mul(dy, kept_y);
          dx.mutable_data<double>()[777] *= 1.5;
          return std::vector{dx};
        },
        saved("y", y));
  };
  GradcheckOptions options;
  options.elements = 4;
  const auto result = gradcheck(wrong_at, {input({1000}, 1)}, key, options);
  CHECK_FALSE(result.ok);
  CHECK_THAT(result.message, testing::contains("along a random direction"));
}
