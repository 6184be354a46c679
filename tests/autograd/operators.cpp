#include <cmath>
#include <limits>

#include "autograd/gradcheck.h"
#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/ops/gather/gather.h"
#include "engine/ops/operators.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::autograd;
using engine::DType;
using Values = std::vector<float>;
using Function = std::function<Var(const std::vector<Var>&)>;

namespace {

const float inf = std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::quiet_NaN();

Values values(const Tensor& x) { return x.to_vector<float>(); }
Values values(const Var& x) { return values(x.value()); }
Tensor tensor(const Values& x) { return Tensor::from<float>({static_cast<int64_t>(x.size())}, x); }

/// An empty string when the gradients of f at two random f64 vectors of positive numbers are right.
std::string gradient_error(const Function& f) {
  const Var a(engine::random_uniform({5}, 0.5, 2, {1, 0, 0}).to(DType::f64), true),
      b(engine::random_uniform({5}, 0.5, 2, {2, 0, 0}).to(DType::f64), true);
  const GradcheckResult result = gradcheck(f, {a, b}, {3, 0, 0});
  return result.ok ? "" : result.message;
}

}  // namespace

TEST_CASE("operators: tensors with tensors and with numbers") {
  const Tensor x = tensor({1, -2, 4}), y = tensor({2, 2, 8});
  CHECK(values(x + y) == Values{3, 0, 12});
  CHECK(values(x - y) == Values{-1, -4, -4});
  CHECK(values(Var(x) * y) == Values{2, -4, 32});  // a tensor beside a variable is a constant
  CHECK(values(x - Var(y)) == Values{-1, -4, -4});
  CHECK(values(mse(Var(x), y)) == Values{11});
  CHECK(values(Var(x)[-1]) == Values{4});
  CHECK(values(x * y) == Values{2, -4, 32});
  CHECK(values(x / y) == Values{0.5, -1, 0.5});
  CHECK(values(-x) == Values{-1, 2, -4});
  CHECK(values(x + 1) == Values{2, -1, 5});
  CHECK(values(1 + x) == Values{2, -1, 5});
  CHECK(values(x - 1) == Values{0, -3, 3});
  CHECK(values(1 - x) == Values{0, 3, -3});
  CHECK(values(x * 2.0) == Values{2, -4, 8});
  CHECK(values(2.0 * x) == Values{2, -4, 8});
  CHECK(values(x / 4) == Values{0.25, -0.5, 1});
  CHECK(values(1 / x) == Values{1, -0.5, 0.25});
  CHECK((2 * Tensor::zeros({0, 3})).shape() == Shape{0, 3});
  CHECK((x.to(DType::bf16) * 0.1).dtype() == DType::bf16);
  CHECK(values(x.to(DType::f64) / 3)[0] == 1.0f / 3);
}

TEST_CASE("operators: a compound one makes a new tensor and leaves others alone") {
  Tensor x = tensor({1, 2});
  const Tensor before = x;
  const uint32_t version = before.version();
  x += tensor({10, 10});
  x -= 1;
  x *= 2;
  x /= tensor({4, 2});
  CHECK(values(x) == Values{5, 11});
  CHECK(values(before) == Values{1, 2});
  CHECK(before.version() == version);
  const Var leaf(tensor({1, 2}), true);
  Var y = leaf;
  y *= leaf;
  y += 1;
  y -= leaf;
  y /= 2;
  sum(y).backward();  // (x² + 1 - x) / 2
  CHECK(values(y) == Values{0.5, 1.5});
  CHECK(values(leaf) == Values{1, 2});
  CHECK(values(leaf.grad()) == Values{0.5, 1.5});
}

TEST_CASE("operators: values and gradients of variables with numbers") {
  const Var x(tensor({1, -2, 4}));
  CHECK(values(x + 1) == Values{2, -1, 5});
  CHECK(values(1 - x) == Values{0, 3, -3});
  CHECK(values(1 / x) == Values{1, -0.5, 0.25});
  CHECK(values(-x) == Values{-1, 2, -4});
  CHECK(gradient_error([](auto in) { return in[0] + 2; }) == "");
  CHECK(gradient_error([](auto in) { return (2 + in[0]) * in[1]; }) == "");
  CHECK(gradient_error([](auto in) { return (in[0] - 0.5) / in[1]; }) == "");
  CHECK(gradient_error([](auto in) { return 0.5 - in[0] * in[1]; }) == "");
  CHECK(gradient_error([](auto in) { return in[0] * 3 / in[1]; }) == "");
  CHECK(gradient_error([](auto in) { return 3 * -in[0]; }) == "");
  CHECK(gradient_error([](auto in) { return in[0] / 3 - in[1]; }) == "");
  CHECK(gradient_error([](auto in) { return 3 / (in[0] + in[1]); }) == "");
}

TEST_CASE("operators: what cannot be done names op and operands") {
  const Tensor ids = Tensor::from<int64_t>({2}, {3, 4});
  CHECK_THROWS_WITH(ids + 0.5, "add: 0.5 is no value of i64: x i64 (2)");
  CHECK_THROWS_WITH(ids * 2, "scale: no i64 kernel on cpu: i64 (2)");
  CHECK_THROWS_WITH(Tensor() + 1, "add: the operand beside 1 is undefined");
  CHECK_THROWS_WITH(tensor({1, 2}) / tensor({1, 2, 3}), "div: shapes do not broadcast: a (2), b (3)");
}

TEST_CASE("abs, maximum and minimum at ties, zeros and NaN") {
  CHECK(values(abs(Var(tensor({-0.0f, -inf})))) == Values{0, inf});
  CHECK(std::isnan(values(abs(Var(tensor({-none}))))[0]));
  const Var x(tensor({0, -3, 5, none}), true);
  sum(abs(x)).backward();
  CHECK(values(x.grad()) == Values{0, -1, 1, 0});

  // Eight and more elements reach whole vectors, the rest partial ones: the rules hold in both.
  for (const int64_t copies : {1, 9}) {
    const auto repeated = [&](const Values& some) { return tensor(some).expand({copies, 6}).reshape({copies * 6}); };
    const Var a(repeated({1, 2, -1, none, 1, -inf}), true), b(repeated({2, 1, -1, 1, none, inf}), true);
    for (const bool larger : {true, false}) {
      a.zero_grad(), b.zero_grad();
      const Var y = larger ? maximum(a, b) : minimum(a, b);
      sum(y).backward();
      for (int64_t i = 0; i < copies; ++i) {
        const auto part = [&](const Tensor& t) { return values(t.slice(0, i * 6, i * 6 + 6)); };
        const Values got = part(y.value());
        CHECK(Values(got.begin(), got.begin() + 3) == (larger ? Values{2, 2, -1} : Values{1, 1, -1}));
        CHECK(std::isnan(got[3]));
        CHECK(std::isnan(got[4]));
        CHECK(got[5] == (larger ? inf : -inf));
        CHECK(part(a.grad()) == (larger ? Values{0, 1, 0.5, 1, 1, 0} : Values{1, 0, 0.5, 1, 1, 1}));
        CHECK(part(b.grad()) == (larger ? Values{1, 0, 0.5, 1, 1, 1} : Values{0, 1, 0.5, 1, 1, 0}));
      }
    }
  }
}

TEST_CASE("comparisons give bool tensors, false beside NaN") {
  const Tensor x = tensor({-1, 0, 2, none}), y = tensor({0, 0, 1, 1});
  const auto truth = [](const Tensor& t) { return t.to_vector<bool>(); };
  using Bools = std::vector<bool>;
  CHECK((x < y).dtype() == DType::boolean);
  CHECK(truth(x < y) == Bools{true, false, false, false});
  CHECK(truth(x <= y) == Bools{true, true, false, false});
  CHECK(truth(x > y) == Bools{false, false, true, false});
  CHECK(truth(x >= 0) == Bools{false, true, true, false});
  CHECK(truth(0 < x) == Bools{false, false, true, false});
  CHECK(truth(engine::equal(x, y)) == Bools{false, true, false, false});
  CHECK(truth(engine::not_equal(x, y)) == Bools{true, false, true, true});
  CHECK(truth(engine::equal(x, -0.0)) == Bools{false, true, false, false});
  const Tensor ids = Tensor::from<int64_t>({3}, {int64_t{1} << 53, (int64_t{1} << 53) + 1, 7});
  CHECK(truth(engine::equal(ids, 7)) == Bools{false, false, true});
  CHECK(truth(engine::less(ids, Tensor::full({3}, 0x1p53, DType::i64))) == Bools{false, false, true});
  CHECK_THROWS_WITH(ids < 0.5, "less: 0.5 is no value of i64: x i64 (3)");
  const Var v(x, true);
  CHECK(truth((v > 0) | (v < 0)) == Bools{true, false, true, false});
  CHECK(truth(!(v > 0) & (v < 1)) == Bools{true, true, false, false});
  sum(where(v > 0, v, 0.1 * v)).backward();  // a leaky ReLU
  CHECK(values(v.grad()) == Values{0.1f, 0.1f, 1, 0.1f});
  CHECK(any(x < -0.5));
  CHECK_FALSE(all(x < 3));
  CHECK(all(Tensor::zeros({0}, DType::boolean)));
  CHECK_FALSE(any(Tensor::zeros({0}, DType::boolean)));
  CHECK_THROWS_WITH(any(x), "any: x f32 (4) is not bool");
}

TEST_CASE("extrema: the first of equal ones, the first NaN, and where the gradient goes") {
  const Var x(Tensor::from<float>({3, 4}, {1, 3, 3, 0, -2, -2, 5, 5, 1, none, 9, none}), true);
  const auto at = [](const Tensor& t) { return t.to_vector<int64_t>(); };
  using Places = std::vector<int64_t>;
  CHECK(at(argmax(x, {1})) == Places{1, 2, 1});
  CHECK(at(argmin(x, {1})) == Places{3, 0, 1});
  CHECK(argmax(x, {-1}, true).shape() == Shape{3, 1});
  CHECK(at(argmax(x)) == Places{9});
  CHECK(at(argmin(slice(x, 0, 0, 2))) == Places{4});
  CHECK(values(min(slice(x, 0, 0, 2), {0})) == Values{-2, -2, 3, 0});
  sum(min(slice(x, 0, 0, 2), {1})).backward();
  CHECK(values(x.grad()) == Values{0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0});
  const Tensor all_equal = Tensor::full({2, 40}, inf);
  CHECK(at(argmin(Var(all_equal), {1})) == Places{0, 0});
  CHECK(at(argmax(Var(-all_equal), {1})) == Places{0, 0});
}

TEST_CASE("clamp and pow at their edges") {
  const Var x(tensor({-1, 0, 0.5, 1, 2, none}), true);
  const Var y = clamp(x, 0, 1);
  const Values got = values(y);
  CHECK(Values(got.begin(), got.end() - 1) == Values{0, 0, 0.5, 1, 1});
  CHECK(std::isnan(got.back()));
  sum(y).backward();
  CHECK(values(x.grad()) == Values{0, 1, 1, 1, 0, 0});

  const Var a(tensor({0, 0, 2, 3}), true), b(tensor({0, 2, 0, 2}), true);
  sum(pow(a, b)).backward();
  CHECK(values(pow(a, b)) == Values{1, 0, 1, 9});
  CHECK(values(a.grad()) == Values{0, 0, 0, 6});
  CHECK(values(b.grad())[0] == 0);
  CHECK(values(b.grad())[1] == 0);
  CHECK(values(b.grad())[2] == Approx(std::log(2)));
  CHECK(values(pow(Var(tensor({-2, -8})), 3)) == Values{-8, -512});
  CHECK(std::isnan(values(pow(Var(tensor({-2})), 1.5))[0]));
  CHECK(values(pow(Var(tensor({4, 9})), -0.5)) == Values{0.5, 1.0f / 3});
}

TEST_CASE("the lines of docs/operations.md") {
  const Var x(tensor({-2, 3}), true), target(tensor({0, 1})), w(tensor({-1, 4}), true);
  const Var y = 1 / (1 + exp(-x));
  Var loss = mean(pow(y - target, 2));
  loss += 1e-4 * sum(abs(w));
  const Var leaky = where(x > 0, x, 0.01 * x);
  const Var logits(Tensor::from<float>({2, 3}, {0, 2, 1, 5, 4, 3}));
  const Tensor labels = Tensor::from<int64_t>({2}, {1, 2});
  const Tensor hits = equal(argmax(logits, {-1}), labels);
  CHECK(hits.to_vector<bool>() == std::vector<bool>{true, false});
  CHECK(values(leaky) == Values{-0.02f, 3});
  const double p = 1 / (1 + std::exp(2)), q = 1 / (1 + std::exp(-3));
  CHECK(loss.value().item() == Approx((p * p + (1 - q) * (1 - q)) / 2 + 5e-4));
  loss.backward();
  CHECK(values(x.grad())[0] == Approx(p * p * (1 - p)));
  CHECK(values(w.grad()) == Values{-1e-4f, 1e-4f});
}

TEST_CASE("stacks, parts and what is picked from them") {
  const Var a(tensor({1, 2}), true), b(tensor({3, 4}), true);
  CHECK(values(stack({a, b})) == Values{1, 2, 3, 4});
  CHECK(values(stack({a, b}, -1)) == Values{1, 3, 2, 4});
  CHECK(values(split(stack({a, b}, 1), {1, 1}, 0)[1]) == Values{2, 4});
  CHECK(values(chunk(concat({a, b}, 0), 2, 0)[1]) == Values{3, 4});
  CHECK(values(select(stack({a, b}), 0, 1)) == Values{3, 4});
  const Tensor twice = Tensor::from<int64_t>({3}, {1, 0, 1});
  sum(index_select(a, 0, twice) * Var(tensor({1, 10, 100}))).backward();
  CHECK(values(a.grad()) == Values{10, 101});
  const Tensor mask = Tensor::from<bool>({2}, {true, false});
  CHECK(engine::gather(mask, 0, twice).to_vector<bool>() == std::vector<bool>{false, true, false});
  CHECK(values(variance(concat({a, b}, 0)))[0] == Approx(5.0 / 3));
  CHECK(values(variance(concat({a, b}, 0), {}, false, 0))[0] == Approx(5.0 / 4));
}
