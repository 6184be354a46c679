#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/embedding/embedding.h"
#include "engine/ops/max/max.h"
#include "engine/ops/scale/scale.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::autograd;
using testing::contains;
using Values = std::vector<float>;

namespace {

Var leaf(const Shape& shape, const Values& values) { return Var(Tensor::from<float>(shape, values), true); }
Values grad_of(const Var& x) { return x.grad().to_vector<float>(); }

/// An identity whose vjp gives `gradient`.
Var with_gradient(const Var& x, const Tensor& gradient) {
  return record(
      "odd", x.value().clone(), {x}, [](const Tensor&, const Needs&, const Tensor& g) { return std::vector{g}; },
      saved("gradient", gradient));
}

}  // namespace

TEST_CASE("tape: a value used twice gets both gradients") {
  const Var x = leaf({2}, {3, -2});
  sum(x * x + x).backward();
  CHECK(grad_of(x) == Values{7, -3});
}

TEST_CASE("tape: a diamond is walked once per node") {
  const Var x = leaf({1}, {2});
  Var y = x;
  for (int i = 0; i < 40; ++i) y = y + y;  // 2^40 paths
  y.backward(Tensor::full({1}, 1));
  CHECK(grad_of(x)[0] == 0x1p40f);
}

TEST_CASE("tape: backward says of each leaf when its gradient is final") {
  const Var a = leaf({2}, {1, 2}), b = leaf({2}, {3, 4}), c = leaf({2}, {5, 6}), constant(Tensor::full({2}, 2));
  std::vector<std::pair<Var, Values>> told;
  const auto finished = [&](const Var& leaf) { told.emplace_back(leaf, grad_of(leaf)); };
  const Var square = c * c;  // before the others: the compiler may choose the order of operands
  sum(exp(a * b) * constant * a + square).backward(finished);
  REQUIRE(told.size() == 3);
  CHECK(told[0].first.node() == a.node());  // not at its use as a factor
  CHECK(told[1].first.node() == b.node());
  CHECK(told[2].first.node() == c.node());
  for (const auto& [leaf, gradient] : told) CHECK(gradient == grad_of(leaf));
}

TEST_CASE("tape: gradients accumulate until zero_grad, and do not write to what others hold") {
  const Var x = leaf({2}, {1, 2});
  sum(x * x).backward();
  const Tensor first = x.grad();
  sum(x * x).backward();
  CHECK(grad_of(x) == Values{4, 8});
  CHECK(first.to_vector<float>() == Values{2, 4});
  x.zero_grad();
  CHECK_FALSE(x.grad().defined());
  const Tensor dy = Tensor::full({2}, 1);
  const Var a = leaf({2}, {0, 0}), b = leaf({2}, {0, 0});
  (a + b).backward(dy);
  (a + a).backward(dy);
  CHECK(grad_of(a) == Values{3, 3});
  CHECK(grad_of(b) == Values{1, 1});
  CHECK(dy.to_vector<float>() == Values{1, 1});
}

TEST_CASE("tape: a leaf's gradient is its own: neither the caller's cotangent nor another leaf's") {
  const Var x = leaf({2}, {0, 0}), constant(Tensor::full({2}, 1));
  const Tensor dy = Tensor::full({2}, 1);
  (x + constant).backward(dy);
  engine::copy_inplace(dy, Tensor::full({2}, 10));
  CHECK(grad_of(x) == Values{1, 1});
  (x + constant).backward(dy);
  CHECK(grad_of(x) == Values{11, 11});
  const Var a = leaf({2}, {0, 0}), b = leaf({2}, {0, 0}), wide = leaf({2}, {0, 0});
  (a + b).backward(dy);
  CHECK_FALSE(a.grad().shares_storage(b.grad()));
  engine::copy_inplace(a.grad(), Tensor::zeros({2}));  // as clipping does
  CHECK(grad_of(b) == Values{10, 10});
  CHECK(dy.to_vector<float>() == Values{10, 10});
  sum(wide).backward();  // dy reaches it as an expanded view
  engine::copy_inplace(wide.grad(), Tensor::from<float>({2}, {3, 4}));
  CHECK(grad_of(wide) == Values{3, 4});
  x.zero_grad();
  x.backward(dy);
  CHECK_FALSE(x.grad().shares_storage(dy));
}

TEST_CASE("tape: an undefined Var") {
  const Var none, of_nothing{Tensor()};
  CHECK_FALSE(of_nothing.defined());
  CHECK_FALSE(none.value().defined());
  CHECK_FALSE(none.detach().defined());
  CHECK_FALSE(none.grad().defined());
  CHECK_FALSE(none.requires_grad());
  CHECK_FALSE(none.is_bound());
  CHECK_THROWS_AS(none.dim(0), Error);
  CHECK_THROWS_AS(none.grad_dtype(), Error);
  CHECK_THROWS_AS(Var(Tensor(), true), Error);
  const Var x = leaf({2}, {1, 2});
  CHECK_THROWS_WITH(x + none, contains("add: operand b is undefined"));
  CHECK_THROWS_WITH(none * x, contains("mul: operand a is undefined"));
  CHECK_THROWS_WITH(checkpoint(nullptr, {x}), contains("checkpoint: no function"));
}

TEST_CASE("tape: what was broadcast is summed back") {
  const Var a = leaf({2, 1}, {1, 2}), b = leaf({3}, {1, 10, 100}), c = leaf({}, {2});
  sum(a * b * c).backward();
  CHECK(a.grad().shape() == Shape{2, 1});
  CHECK(grad_of(a) == Values{222, 222});
  CHECK(grad_of(b) == Values{6, 6, 6});
  CHECK(c.grad().shape() == Shape{});
  CHECK(grad_of(c) == Values{333});
}

TEST_CASE("tape: no_grad, detach and constants record nothing") {
  const Var x = leaf({2}, {1, 2});
  {
    const NoGrad no_grad;
    CHECK_FALSE(grad_enabled());
    CHECK_FALSE((x * x).requires_grad());
  }
  CHECK(grad_enabled());
  CHECK_FALSE((x.detach() * x.detach()).requires_grad());
  sum(x * x.detach()).backward();
  CHECK(grad_of(x) == Values{1, 2});
  CHECK_THROWS_WITH(sum(x.detach()).backward(), contains("requires a gradient"));
  CHECK_THROWS_AS(Var(Tensor::from<int64_t>({1}, {1}), true), Error);
}

TEST_CASE("tape: a second backward through the same graph is an error") {
  const Var x = leaf({2}, {1, 2});
  const Var shared = x * x, y = sum(shared);
  y.backward();
  CHECK_THROWS_WITH(y.backward(), contains("already freed"));
  CHECK_THROWS_WITH(sum(shared * shared).backward(), contains("the graph through mul was already freed"));
  CHECK(grad_of(x) == Values{2, 4});
}

TEST_CASE("tape: backward needs one element or a fitting cotangent") {
  const Var x = leaf({2}, {1, 2});
  CHECK_THROWS_WITH((x * x).backward(), contains("more than one element"));
  CHECK_THROWS_AS((x * x).backward(Tensor::zeros({3})), Error);
  CHECK_THROWS_AS((x * x).backward(Tensor::zeros({2}, engine::DType::f64)), Error);
  CHECK_THROWS_AS((x * x).backward(Tensor()), Error);
  CHECK_THROWS_AS(Var().backward(), Error);
  CHECK_THROWS_AS(Var().zero_grad(), Error);
  CHECK_THROWS_AS(Var().bind(Tensor(), Tensor()), Error);
}

TEST_CASE("tape: writing in place to what a graph holds is an error, not a wrong gradient") {
  const Var x = leaf({2}, {1, 2}), w = leaf({2}, {3, 4});
  const Var y = sum(x * w);
  engine::copy_inplace(w.value(), Tensor::zeros({2}));
  CHECK_THROWS_WITH(y.backward(), contains("operand 1 of mul") && contains("written in place"));
  CHECK_FALSE(x.grad().defined());
  const Var z = exp(x), loss = sum(z);
  engine::add_inplace(z.value(), Tensor::full({2}, 1));
  CHECK_THROWS_WITH(loss.backward(), contains("written in place"));
}

TEST_CASE("tape: ids and masks that are overwritten before backward are an error that names op and operand") {
  const Var table = leaf({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor ids = Tensor::from<int64_t>({2}, {0, 2});
  const Var loss = sum(embedding(table, ids));
  engine::copy_inplace(ids, Tensor::full({2}, 1e12, engine::DType::i64));
  CHECK_THROWS_WITH(loss.backward(),
                    contains("backward: indices of embedding i64 (2) was written in place after it was used"));
  CHECK_FALSE(table.grad().defined());
  const Tensor mask = Tensor::full({3, 2}, 1, engine::DType::boolean);
  const Var filled = sum(masked_fill(table, mask, 0));
  mask.mutable_data<bool>()[1] = false;  // a pointer to write through counts as a write
  CHECK_THROWS_WITH(filled.backward(), contains("condition of where bool (3, 2) was written in place"));
}

TEST_CASE("tape: an index that is out of range is an error in the gradient too") {
  const Tensor dy = Tensor::zeros({2, 2}), ids = Tensor::from<int64_t>({2}, {0, 3});
  CHECK_THROWS_WITH(engine::embedding_grad(dy, ids, 3),
                    contains("embedding_grad: index 3 at position 1 is outside [0, 3)"));
  CHECK_THROWS_WITH(engine::embedding_grad(Tensor::zeros({3, 2}), ids, 9),
                    contains("dy (3, 2) does not fit indices (2)"));
  CHECK_THROWS_WITH(engine::max_grad(Tensor::zeros({2}), ids, {2, 3}, {1}),
                    contains("max_grad: index 3 at position 1"));
  CHECK_THROWS_WITH(engine::max_grad(Tensor::zeros({3}), ids, {2, 3}, {1}), contains("do not fit x (2, 3)"));
}

TEST_CASE("tape: a leaf's gradient has the dtype that was declared for it") {
  const Tensor half = Tensor::full({2}, 1, engine::DType::bf16);
  const Var x(half, true);
  x.bind(half, Tensor::zeros({2}));
  const auto gradient_of = [&](engine::DType dtype) {
    const Tensor g = Tensor::full({3, 2}, 0.5, dtype);
    x.zero_grad();
    record(
        "widen", Tensor::zeros({}), {x},
        [](const Tensor&, const Needs&, const Tensor& kept) { return std::vector{kept}; }, saved("gradient", g))
        .backward();
    return x.grad();
  };
  for (const engine::DType dtype : {engine::DType::f32, engine::DType::bf16}) {
    CHECK(gradient_of(dtype).dtype() == engine::DType::f32);
    CHECK(gradient_of(dtype).to_vector<float>() == std::vector<float>{1.5f, 1.5f});
  }
  CHECK_THROWS_WITH(gradient_of(engine::DType::f64),
                    contains("widen gave operand 0 bf16 (2) a gradient of f64 (3, 2)"));
  CHECK_THROWS_WITH(x.bind(half, Tensor::zeros({2}, engine::DType::i64)),
                    contains("bind: value bf16 (2), gradient i64"));
}

TEST_CASE("tape: a vjp's gradient is checked in dtype, shape and number") {
  const Var x = leaf({2, 3}, Values(6, 1));
  CHECK_THROWS_WITH(sum(with_gradient(x, Tensor::zeros({3, 2}))).backward(), contains("odd gave operand 0 f32 (2, 3)"));
  CHECK_THROWS_WITH(sum(with_gradient(x, Tensor::zeros({2, 3}, engine::DType::f64))).backward(),
                    contains("f64 (2, 3)"));
  CHECK_THROWS_WITH(sum(with_gradient(x, Tensor())).backward(), contains("no gradient"));
  const Var none =
      record("odd", x.value().clone(), {x}, [](const Tensor&, const Needs&) { return std::vector<Tensor>(); });
  CHECK_THROWS_WITH(sum(none).backward(), contains("has 1 operands and gave 0 gradients"));
  const Var wide = with_gradient(x, Tensor::full({4, 2, 3}, 1));
  sum(wide).backward();
  CHECK(grad_of(x) == Values(6, 4));
}

TEST_CASE("tape: an error half way leaves nothing behind that a later backward would count") {
  const Var x = leaf({2}, {1, 2}), w = leaf({2}, {3, 4});
  const Var inner = x * x;
  const Var bad = sum(with_gradient(inner, Tensor::zeros({5})) + inner);
  CHECK_THROWS_AS(bad.backward(), Error);
  x.zero_grad();
  sum(inner).backward();
  CHECK(grad_of(x) == Values{2, 4});
}

TEST_CASE("tape: unwanted gradients are counted and dropped") {
  const Var x = leaf({2}, {1, 2}), constant(Tensor::full({2}, 1));
  const int64_t before = unwanted_gradients();
  const Var y =
      record("both", engine::mul(x.value(), constant.value()), {x, constant}, [](const Tensor& dy, const Needs&) {
        return std::vector{dy, Tensor::zeros({2})};
      });
  sum(y).backward();
  CHECK(unwanted_gradients() == before + 1);
  CHECK_FALSE(constant.grad().defined());
}

TEST_CASE("tape: a leaf bound to an arena gets its gradient there") {
  const Var x = leaf({2}, {1, 2});
  const Tensor values = Tensor::full({4}, 3), gradients = Tensor::full({4}, 9);
  x.bind(values.slice(0, 1, 3), gradients.slice(0, 1, 3));
  CHECK_FALSE(x.grad().defined());
  sum(x * x).backward();
  sum(x).backward();
  CHECK(gradients.to_vector<float>() == Values{9, 7, 7, 9});
  x.zero_grad();
  sum(x).backward();
  CHECK(gradients.to_vector<float>() == Values{9, 1, 1, 9});
  CHECK_THROWS_AS(x.bind(Tensor::zeros({3}), Tensor::zeros({3})), Error);
}

TEST_CASE("tape: a vjp may write a gradient to its place, once per backward and only if it is whole") {
  // 2x of {x} or {x, x}; what the first gets is written where it belongs.
  const auto doubled = [](const Var& x, const std::vector<Var>& parents) {
    return record(
        "doubled", engine::add(x.value(), x.value()), parents,
        [](const Tensor& dy, const Needs& needs, const Tensor& count) -> std::vector<Tensor> {
          const Tensor place = needs.place(0), each = engine::scale(dy, count.item());
          if (place.defined()) engine::copy_inplace(place, each);
          std::vector<Tensor> out{place.defined() ? place : each};
          if (count.item() == 1) out.push_back(each);
          return out;
        },
        saved("count", Tensor::full({}, parents.size() == 1 ? 2.0 : 1.0)));
  };
  const Var x = leaf({2}, {1, 2}), free = leaf({2}, {1, 2});
  const Tensor gradients = Tensor::full({4}, 9);
  x.bind(Tensor::full({2}, 3), gradients.slice(0, 1, 3));
  sum(doubled(x, {x})).backward();
  CHECK(gradients.to_vector<float>() == Values{9, 2, 2, 9});
  sum(doubled(x, {x})).backward();  // there is one already: the tape adds
  CHECK(gradients.to_vector<float>() == Values{9, 4, 4, 9});
  x.zero_grad();
  sum(doubled(x, {x, x})).backward();  // one leaf twice: no place
  CHECK(gradients.to_vector<float>() == Values{9, 2, 2, 9});
  sum(doubled(free, {free})).backward();
  CHECK(grad_of(free) == Values{2, 2});
}

TEST_CASE("tape: a vjp may take what other ops gave an operand, and give the sum") {
  const auto taking = [](const Var& x) {
    return record("taking", x.value().clone(), {x}, [](const Tensor& dy, const Needs& needs) -> std::vector<Tensor> {
      const Tensor others = needs.take(0);
      return {others.defined() ? engine::add(others, dy) : dy};
    });
  };
  const Var x = leaf({2}, {1, 2});
  const Var h = x * 3.0;
  sum(taking(h) + h * 4.0).backward();
  CHECK(grad_of(x) == Values{15, 15});
  x.zero_grad();
  sum(taking(x) + x * 4.0).backward();  // of a leaf there is nothing to take
  CHECK(grad_of(x) == Values{5, 5});
  x.zero_grad();
  const Var constant(Tensor::full({2}, 1));
  sum(taking(constant) + x).backward();
  CHECK(grad_of(x) == Values{1, 1});
}

TEST_CASE("tape: a chain of a million ops is freed without recursion") {
  const Var x = leaf({1}, {1});
  Var y = x;
  for (int i = 0; i < 1000000; ++i)
    y = record("step", y.value(), {y}, [](const Tensor& dy, const Needs&) { return std::vector{dy}; });
  y = Var();
  CHECK(x.node().use_count() == 1);
}
