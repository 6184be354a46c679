// Samples of the comparisons and of the logical ops: no gradients, but every other check.
#include "autograd/ops/comparison.h"

#include "autograd/op_suite/sample.h"

namespace headroom::autograd {
namespace {

/// The answers as numbers of the first operand's dtype, or f32: the driver compares floating results.
Var as_numbers(const Tensor& answers, const Tensor& like) {
  return Var(answers.to(engine::is_floating(like.dtype()) ? like.dtype() : engine::DType::f32));
}

OpSamples comparison_samples(const char* name, Tensor (*op)(const Tensor&, const Tensor&)) {
  const auto run = [op](const std::vector<Var>& in) {
    return as_numbers(op(in[0].value(), in[1].value()), in[0].value());
  };
  const auto pair = [](const Shape& a, const Shape& b) {
    return std::vector{fixed(normal("a", a)), fixed(normal("b", b))};
  };
  const auto ids = [](const Shape& a, const Shape& b) {
    return std::vector{integers("a", a, 0, 3), integers("b", b, 0, 3)};  // ties
  };
  OpSamples out;
  out.samples = {{"typical", pair({3, 5, 7}, {3, 5, 7}), run},
                 {"long", pair({2, 1031}, {2, 1031}), run},
                 {"broadcast row", pair({4, 3, 5}, {5}), run},
                 {"broadcast both", pair({4, 1, 5}, {3, 1}), run},
                 {"broadcast scalar", pair({}, {2, 33}), run},
                 {"integers", ids({4, 9}, {9}), run},
                 {"ties", ids({3, 70}, {70}),
                  [op](const std::vector<Var>& in) {
                    const auto real = [](const Var& x) { return x.value().to(engine::DType::f32); };
                    return as_numbers(op(real(in[0]), real(in[1])), real(in[0]));
                  }},
                 {"booleans", {booleans("a", {5, 3}, 0.5), booleans("b", {5, 3}, 0.5)}, run},
                 {"size-1", pair({1}, {1}), run},
                 {"empty", pair({0, 4}, {0, 4}), run}};
  out.refusals = {{"shapes", pair({2, 3}, {4}), run, {name, "(2, 3)", "(4)"}},
                  {"dtypes", {integers("a", {3}, 0, 5), normal("b", {3})}, run, {name, "i64", "f32"}}};
  out.value = {0};
  return out;
}

OpSamples logical_samples(const char* name, Tensor (*op)(const Tensor&, const Tensor&)) {
  const auto run = [op](const std::vector<Var>& in) {
    return as_numbers(op(in[0].value(), in[1].value()), in[0].value());
  };
  const auto pair = [](const Shape& a, const Shape& b) {
    return std::vector{booleans("a", a, 0.5), booleans("b", b, 0.5)};
  };
  OpSamples out;
  out.samples = {{"typical", pair({3, 5, 7}, {3, 5, 7}), run},
                 {"broadcast both", pair({4, 1, 5}, {3, 1}), run},
                 {"size-1", pair({1}, {1}), run},
                 {"empty", pair({0, 4}, {0, 4}), run}};
  out.refusals = {{"shapes", pair({2, 3}, {4}), run, {name, "(2, 3)", "(4)"}},
                  {"not bool", {normal("a", {3}), normal("b", {3})}, run, {name, "f32"}}};
  out.value = {0};
  return out;
}

}  // namespace

#define HEADROOM_SAMPLES(NAME, FUNCTOR) \
  OpSamples NAME##_samples() { return comparison_samples(#NAME, engine::NAME); }
HEADROOM_COMPARISONS(HEADROOM_SAMPLES)
#undef HEADROOM_SAMPLES

OpSamples logical_and_samples() { return logical_samples("logical_and", engine::logical_and); }
OpSamples logical_or_samples() { return logical_samples("logical_or", engine::logical_or); }
OpSamples logical_xor_samples() { return logical_samples("logical_xor", engine::logical_xor); }

OpSamples logical_not_samples() {
  const auto run = [](const std::vector<Var>& in) { return as_numbers(!in[0].value(), in[0].value()); };
  OpSamples out;
  out.samples = {{"typical", {booleans("x", {3, 5, 7}, 0.5)}, run},
                 {"size-1", {booleans("x", {1}, 0.5)}, run},
                 {"empty", {booleans("x", {0, 4}, 0.5)}, run}};
  out.refusals = {{"not bool", {normal("x", {3})}, run, {"logical_not", "f32"}}};
  out.value = {0};
  return out;
}

}  // namespace headroom::autograd
