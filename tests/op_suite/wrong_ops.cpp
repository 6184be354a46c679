// The driver itself under test: ops that are wrong on purpose, each of which one named check must catch.
#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "autograd/op_suite/driver.h"
#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/elementwise/unary.h"
#include "engine/ops/sum/sum.h"
#include "engine/parallel.h"
#include "tests/support/catch.h"

namespace {

using namespace headroom;
using namespace headroom::autograd;
using Vars = std::vector<Var>;
using Gradients = std::vector<Tensor>;

/// Two operands of one shape with every sample and refusal that the driver asks for; y = a·b unless `run` is wrong.
OpSamples product_samples(std::function<Var(const Vars&)> run) {
  OpSamples out;
  for (const Shape& shape : {Shape{3, 5}, Shape{2, 20011}, Shape{1}, Shape{0, 4}})
    out.samples.push_back({shape.str(), {normal("a", shape), normal("b", shape)}, run});
  out.value = out.gradient = {1};
  out.refusals = {{"shapes", {normal("a", {2, 3}), normal("b", {4})}, run, {"(2, 3)", "(4)"}}};
  return out;
}

Tensor product(const Tensor& a, const Tensor& b) {
  if (!a.defined() || a.shape() != b.shape()) fail("product: shapes differ: a {}, b {}", a.str(), b.str());
  return engine::mul(a, b);
}

/// The right binding; each wrong op below differs from it in one thing.
Var right(const Vars& in) {
  return record(
      "product", product(in[0].value(), in[1].value()), in,
      [](const Tensor& dy, const Needs& needs, const Tensor& a, const Tensor& b) -> Gradients {
        return {needs[0] ? engine::mul(dy, b) : Tensor(), needs[1] ? engine::mul(dy, a) : Tensor()};
      },
      saved("a", in[0]), saved("b", in[1]));
}

/// A binding of the product whose vjp is `vjp(dy, needs, a, b)`.
template <class F>
auto with_vjp(F vjp) {
  return [vjp](const Vars& in) {
    return record("product", product(in[0].value(), in[1].value()), in, vjp, saved("a", in[0]), saved("b", in[1]));
  };
}

std::vector<Check> checks_of(OpSamples (*samples)()) { return check_op({"product", samples}); }

/// Whether a check of this name failed on some sample.
bool caught(const std::vector<Check>& checks, const std::string& name) {
  return std::any_of(checks.begin(), checks.end(),
                     [&](const Check& c) { return c.name == name && c.status == Check::Status::fail; });
}
std::string failures(const std::vector<Check>& checks) {
  std::string text;
  for (const Check& check : checks)
    if (check.status == Check::Status::fail) text += check.str() + "\n";
  return text;
}

}  // namespace

TEST_CASE("a right op passes every check") {
  CHECK(failures(checks_of([] { return product_samples(right); })) == "");
}

TEST_CASE("a missing gradient term fails gradcheck") {
  const auto checks = checks_of([] {
    return product_samples(with_vjp([](const Tensor& dy, const Needs& needs, const Tensor&, const Tensor& b) {
      return Gradients{needs[0] ? engine::mul(dy, b) : Tensor(),
                       needs[1] ? Tensor::zeros(dy.shape(), dy.dtype()) : Tensor()};
    }));
  });
  CHECK(caught(checks, "gradcheck"));
  CHECK(caught(checks, "repeated"));
  INFO(failures(checks));
  CHECK(failures(checks).find("product[(3, 5)] gradcheck: input 1 (") != std::string::npos);
}

TEST_CASE("a gradient constant off by one per cent fails gradcheck") {
  const auto checks = checks_of([] {
    return product_samples(with_vjp([](const Tensor& dy, const Needs& needs, const Tensor& a, const Tensor& b) {
      const Tensor factor = Tensor::full({}, 1.01, dy.dtype());
      return Gradients{needs[0] ? engine::mul(engine::mul(dy, b), factor) : Tensor(),
                       needs[1] ? engine::mul(dy, a) : Tensor()};
    }));
  });
  CHECK(caught(checks, "gradcheck"));
}

TEST_CASE("one wrong gradient element among many fails gradcheck") {
  const auto checks = checks_of([] {
    return product_samples(with_vjp([](const Tensor& dy, const Needs& needs, const Tensor& a, const Tensor& b) {
      const Tensor da = engine::mul(dy, b);
      if (da.numel() > 12345 && da.dtype() == engine::DType::f64) da.mutable_data<double>()[12345] = 0;
      return Gradients{needs[0] ? da : Tensor(), needs[1] ? engine::mul(dy, a) : Tensor()};
    }));
  });
  INFO(failures(checks));
  CHECK(failures(checks).find("product[(2, 20011)] gradcheck: input 0 along a random direction") != std::string::npos);
}

TEST_CASE("a vjp that ignores what is needed fails needs") {
  const auto checks = checks_of([] {
    return product_samples(with_vjp([](const Tensor& dy, const Needs&, const Tensor& a, const Tensor& b) {
      return Gradients{engine::mul(dy, b), engine::mul(dy, a)};
    }));
  });
  CHECK(caught(checks, "needs"));
  CHECK_FALSE(caught(checks, "gradcheck"));
}

TEST_CASE("an f32 path that differs from the definition fails fast") {
  const auto checks = checks_of([] {
    return product_samples([](const Vars& in) {
      const Var y = right(in);
      if (y.value().dtype() != engine::DType::f32) return y;
      return mul(y, Var(Tensor::full({}, 1.0005)));
    });
  });
  CHECK(caught(checks, "fast"));
  CHECK_FALSE(caught(checks, "gradcheck"));
}

TEST_CASE("an elementwise op that is wrong only where its results are small fails fast") {
  const auto checks = checks_of([] {
    OpSamples out = product_samples([](const Vars& in) {
      const Var y = right(in);
      return y.value().dtype() == engine::DType::f32 ? add(y, Var(Tensor::full({}, 1e-8))) : y;
    });
    for (Sample& sample : out.samples) sample.tolerances = elementwise(1, 1);
    return out;
  });
  CHECK(caught(checks, "fast"));
  CHECK_FALSE(caught(checks, "gradcheck"));
}

/// ELU as e^x - 1, which has no digits left near 0.
static OpSamples naive_elu_samples(Tolerance value) {
  const auto run = [](const Vars& in) { return where(in[0] > 0, in[0], exp(in[0]) - 1); };
  OpSamples out;
  for (const Shape& shape : {Shape{2, 1031}, Shape{1}, Shape{0, 4}})
    out.samples.push_back({shape.str(), {uniform("x", shape, -4, 4)}, run});
  out.refusals = {{"integers", {integers("x", {3}, 0, 5)}, run, {"i64"}}};
  out.value = value, out.gradient = {8};
  return out;
}

TEST_CASE("a naive ELU fails fast, and must state its bound in ulp") {
  const auto checks = [](OpSamples (*samples)()) { return check_op({"elu", samples}); };
  CHECK(caught(checks([] { return naive_elu_samples({4}); }), "fast"));
  const std::vector<Check> shared = checks([] { return naive_elu_samples({4, 4e-6}); });
  CHECK_FALSE(caught(shared, "fast"));
  CHECK(caught(shared, "bound"));
  CHECK(failures(shared).find("state the value's bound in ulp") != std::string::npos);
  const std::vector<Check> unstated = checks([] { return naive_elu_samples({-1}); });
  CHECK(caught(unstated, "bound"));
  CHECK(failures(unstated).find("no error bound is stated") != std::string::npos);
}

TEST_CASE("an op that reads a strided operand as if it were contiguous fails strided") {
  const auto checks = checks_of([] {
    return product_samples([](const Vars& in) {
      const Tensor a = in[0].value();
      if (a.dtype() != engine::DType::f32 || a.is_contiguous()) return right(in);
      Tensor wrong = Tensor::empty(a.shape());
      std::copy(a.data<float>(), a.data<float>() + a.numel(), wrong.mutable_data<float>());
      return right({Var(wrong, in[0].requires_grad()), in[1]});
    });
  });
  CHECK(caught(checks, "strided"));
  CHECK_FALSE(caught(checks, "fast"));
}

TEST_CASE("an op that writes to its input fails unwritten") {
  const auto checks = checks_of([] {
    return product_samples([](const Vars& in) {
      const Var y = right(in);
      const Tensor a = in[0].value();
      if (a.dtype() == engine::DType::f32 && a.numel() == 1) a.mutable_data<float>()[0] += 1;  // and hides it
      return y;
    });
  });
  CHECK(caught(checks, "unwritten"));
}

TEST_CASE("an op that works in place fails unwritten, and the tape refuses its gradient") {
  const auto checks = checks_of([] {
    return product_samples([](const Vars& in) {
      const Var y = right(in);
      if (in[0].value().is_contiguous()) engine::add_inplace(in[0].value(), in[1].value());
      return y;
    });
  });
  CHECK(caught(checks, "unwritten"));
  CHECK(failures(checks).find("was written in place") != std::string::npos);
}

TEST_CASE("a vjp that reads an operand without saving it fails overwritten") {
  const auto checks = checks_of([] {
    return product_samples([](const Vars& in) {
      static Tensor hidden;  // a vjp captures nothing, so what it hides is not a capture
      hidden = in[1].value();
      const Var a = in[0], b(in[1].value().clone(), in[1].requires_grad());
      return record("product", product(a.value(), b.value()), {a, in[1].requires_grad() ? b : Var()},
                    [](const Tensor& dy, const Needs& needs) -> Gradients {
                      return {needs[0] ? engine::mul(dy, hidden) : Tensor(), needs[1] ? dy : Tensor()};
                    });
    });
  });
  CHECK(caught(checks, "overwritten"));
}

TEST_CASE("an op that does not say which operand is undefined fails undefined") {
  const auto checks = checks_of([] {
    return product_samples([](const Vars& in) {
      if (!in[1].defined()) fail("product: undefined where a value was expected");
      return right(in);
    });
  });
  CHECK(caught(checks, "undefined"));
}

TEST_CASE("a sum cut by the number of threads fails threads") {
  const auto checks = checks_of([] {
    return product_samples([](const Vars& in) {
      const Var y = right(in);
      if (y.value().dtype() != engine::DType::f32) return y;
      const std::vector<float> values = y.value().to_vector<float>();
      const size_t step = values.size() / static_cast<size_t>(engine::num_threads()) + 1;
      float total = 0;
      for (size_t begin = 0; begin < values.size(); begin += step) {
        float partial = 0;
        for (size_t i = begin; i < std::min(begin + step, values.size()); ++i) partial += values[i];
        total += partial;
      }
      return add(y, Var(Tensor::full({}, static_cast<double>(total) * 1e-3)));
    });
  });
  CHECK(caught(checks, "threads"));
}

TEST_CASE("a composed twin that differs fails twin") {
  const auto checks = checks_of([] {
    OpSamples out = product_samples(right);
    for (Sample& sample : out.samples) sample.twin = [](const Vars& in) { return mul(in[0], scale(in[1], 1.001)); };
    return out;
  });
  CHECK(caught(checks, "twin"));
  CHECK_FALSE(caught(checks, "fast"));
}

TEST_CASE("refusals: no error, another exception, or a message without shapes or name") {
  const auto refused_with = [](auto f) {
    OpSamples out = product_samples(right);
    out.refusals[0].run = f;
    return out;
  };
  static const auto build = refused_with;
  CHECK(caught(checks_of([] { return build([](const Vars& in) { return in[0]; }); }), "refusal"));
  CHECK(caught(
      checks_of([] { return build([](const Vars&) -> Var { throw std::runtime_error("product (2, 3) (4)"); }); }),
      "refusal"));
  CHECK(caught(checks_of([] { return build([](const Vars&) -> Var { fail("product: shapes differ"); }); }), "refusal"));
  CHECK(caught(checks_of([] { return build([](const Vars&) -> Var { fail("shapes (2, 3), (4)"); }); }), "refusal"));
}

TEST_CASE("coverage: no empty sample, no size-1 sample, no refusal, a label twice") {
  CHECK(caught(checks_of([] {
                 OpSamples out = product_samples(right);
                 out.samples.pop_back();
                 return out;
               }),
               "coverage"));
  CHECK(caught(checks_of([] {
                 OpSamples out = product_samples(right);
                 out.samples.erase(out.samples.begin() + 2);
                 return out;
               }),
               "coverage"));
  CHECK(caught(checks_of([] {
                 OpSamples out = product_samples(right);
                 out.refusals.clear();
                 return out;
               }),
               "coverage"));
  CHECK(caught(checks_of([] {
                 OpSamples out = product_samples(right);
                 out.samples[1].label = out.samples[0].label;
                 return out;
               }),
               "coverage"));
}
