// Doubles of the composed ops, where a number on paper says more than the op suite's comparisons of f32 with f64.
#include <cmath>
#include <limits>

#include "autograd/ops.h"
#include "engine/exception.h"
#include "engine/sequences/argsort.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::autograd;
using engine::DType;

namespace {

const double infinite = std::numeric_limits<double>::infinity(),
             not_a_number = std::numeric_limits<double>::quiet_NaN();

using Doubles = std::vector<double>;
Doubles doubles(const Var& x) { return x.value().to_vector<double>(); }
Var f64(const Tensor::Nested& x) { return Tensor::of(x, DType::f64); }

}  // namespace

TEST_CASE("composed: sums and orders") {
  CHECK(doubles(cumsum(f64({{1, 2, 3}, {4, 5, 6}}), 1)) == Doubles{1, 3, 6, 4, 9, 15});
  CHECK(doubles(cumsum(f64({{1, 2, 3}, {4, 5, 6}}), 0)) == Doubles{1, 2, 3, 5, 7, 9});
  const auto [sorted, order] = sort(f64({3, not_a_number, -1, 3}));
  CHECK(order.to_vector<int64_t>() == std::vector<int64_t>{2, 0, 3, 1});
  CHECK(doubles(sorted)[0] == -1);
  const auto [most, where_from] = topk(f64({{3, 9, -1}, {0, 1, 2}}), 2);
  CHECK(doubles(most) == Doubles{9, 3, 2, 1});
  CHECK(where_from.to_vector<int64_t>() == std::vector<int64_t>{1, 0, 2, 1});
  CHECK(engine::argsort(Tensor::from<int64_t>({2}, {(int64_t{1} << 60) + 1, int64_t{1} << 60}))[0].item() == 1);
  const Tensor index = Tensor::of({0, 2, 0}, DType::i64);
  CHECK(doubles(scatter_add(f64({1, 1, 1}), 0, index, f64({1, 2, 3}))) == Doubles{5, 1, 3});
  CHECK(doubles(Var(one_hot(index, 3))) == Doubles{1, 0, 0, 0, 0, 1, 1, 0, 0});
  CHECK_THROWS_WITH(one_hot(index, 2), testing::contains("2"));
}

TEST_CASE("composed: what is infinite or zero") {
  CHECK(doubles(logsumexp(f64({{1000, 1000}, {-infinite, -infinite}, {infinite, 0}}), {1})) ==
        Doubles{1000 + std::log(2), -infinite, infinite});
  const Var zero(Tensor::zeros({3}, DType::f64), true);
  l2_norm(zero).backward();
  CHECK(zero.grad().to_vector<double>() == Doubles{0, 0, 0});
  CHECK(doubles(l2_norm(f64({3, 4}))) == Doubles{5});
  CHECK(doubles(tril(f64({{1, not_a_number}, {3, 4}}))) == Doubles{1, 0, 3, 4});
  CHECK(doubles(triu(f64({{1, 2}, {infinite, 4}}), 1)) == Doubles{0, 2, 0, 0});
}

TEST_CASE("composed: losses and products") {
  CHECK(doubles(huber(f64({0.5, -3}), f64({0, 0}))) == Doubles{(0.125 + 2.5) / 2});
  CHECK(doubles(l1(f64({0.5, -3}), f64({0, 0}), Reduction::sum)) == Doubles{3.5});
  CHECK(doubles(bce_with_logits(f64({1000, -1000, 0}), f64({1, 0, 1}), Reduction::sum)) == Doubles{std::log(2)});
  CHECK(doubles(leaky_relu(f64({-2, 3}), 0.25)) == Doubles{-0.5, 3});
  CHECK(doubles(maximum(f64({-2, 3}), 0)) == Doubles{0, 3});
  CHECK(doubles(einsum("ij,j->i", {f64({{1, 2}, {3, 4}}), f64({1, 10})})) == Doubles{21, 43});
}

TEST_CASE("composed: a convolution of one axis") {
  const Var x = f64({{{1, 2, 3, 4}}}), w = f64({{{1, 10}}});
  CHECK(doubles(conv1d(x, w)) == Doubles{21, 32, 43});
  CHECK(doubles(conv1d(x, w, f64({0.5}), {.before = 1})) == Doubles{10.5, 21.5, 32.5, 43.5});
  CHECK(doubles(conv1d(x, w, {}, {.stride = 2})) == Doubles{21, 43});
  CHECK(doubles(conv1d(x, w, {}, {.dilation = 2})) == Doubles{31, 42});
}
