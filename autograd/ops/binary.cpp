#include "engine/ops/elementwise/binary.h"

#include "engine/ops/elementwise/binary_list.h"

#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"
#include "engine/ops/elementwise/unary.h"

namespace headroom::autograd {
namespace {

/// Samples that fit any elementwise op of two operands; b stays away from 0.
OpSamples binary_samples(const char* name, Var (*op)(const Var&, const Var&)) {
  const auto run = [op](const std::vector<Var>& in) { return op(in[0], in[1]); };
  const auto pair = [](const Shape& a, const Shape& b) {
    return std::vector<Input>{normal("a", a), uniform("b", b, 0.5, 2.0)};
  };
  OpSamples out;
  out.samples = {{"typical", pair({3, 5, 7}, {3, 5, 7}), run},
                 {"long", pair({2, 1031}, {2, 1031}), run},
                 {"broadcast row", pair({4, 3, 5}, {5}), run},
                 {"broadcast column", pair({4, 3, 5}, {4, 3, 1}), run},
                 {"broadcast both", pair({4, 1, 5}, {3, 1}), run},
                 {"broadcast left", pair({6}, {2, 3, 6}), run},
                 {"broadcast scalar", pair({}, {2, 3}), run},
                 {"size-1", pair({1}, {1}), run},
                 {"empty", pair({0, 4}, {0, 4}), run},
                 {"empty broadcast", pair({0, 4}, {1, 4}), run}};
  for (Sample& sample : out.samples) sample.tolerances.gradient.least = 1;  // that of a - a, or a / a, cancels
  out.refusals = {{"shapes", pair({2, 3}, {4}), run, {name, "(2, 3)", "(4)"}},
                  {"integers", {integers("a", {3}, 0, 5), normal("b", {3})}, run, {name, "i64"}}};
  return out;
}

}  // namespace

Var add(const Var& a, const Var& b) {
  return record("add", engine::add(a.value(), b.value()), {a, b},
                [](const Tensor& dy, const Needs&) -> std::vector<Tensor> {
                  return {dy, dy};
                });
}

Var sub(const Var& a, const Var& b) {
  return record("sub", engine::sub(a.value(), b.value()), {a, b},
                [](const Tensor& dy, const Needs& needs) -> std::vector<Tensor> {
                  return {dy, needs[1] ? engine::neg(dy) : Tensor()};
                });
}

Var mul(const Var& a, const Var& b) {
  return record(
      "mul", engine::mul(a.value(), b.value()), {a, b},
      [](const Tensor& dy, const Needs& needs, const Tensor& kept_a, const Tensor& kept_b) -> std::vector<Tensor> {
        return {needs[0] ? engine::mul(dy, kept_b) : Tensor(), needs[1] ? engine::mul(dy, kept_a) : Tensor()};
      },
      saved("a", a), saved("b", b));
}

Var div(const Var& a, const Var& b) {
  const Tensor y = engine::div(a.value(), b.value());
  return record(
      "div", y, {a, b},
      [](const Tensor& dy, const Needs& needs, const Tensor& kept_b, const Tensor& kept_y) -> std::vector<Tensor> {
        // y / b first: where a is 0 that is 0, whereas dy / b may overflow.
        return {needs[0] ? engine::div(dy, kept_b) : Tensor(),
                needs[1] ? engine::neg(engine::mul(dy, engine::div(kept_y, kept_b))) : Tensor()};
      },
      saved("b", b), saved("y", y));
}

#define HEADROOM_DEFINE(NAME, FUNCTOR)                                                                                \
  Var NAME(const Var& a, const Var& b) {                                                                              \
    return record(                                                                                                    \
        #NAME, engine::NAME(a.value(), b.value()), {a, b},                                                            \
        [](const Tensor& dy, const Needs& needs, const Tensor& kept_a, const Tensor& kept_b) -> std::vector<Tensor> { \
          return {needs[0] ? engine::NAME##_grad_a(dy, kept_a, kept_b) : Tensor(),                                    \
                  needs[1] ? engine::NAME##_grad_b(dy, kept_a, kept_b) : Tensor()};                                   \
        },                                                                                                            \
        saved("a", a), saved("b", b));                                                                                \
  }
HEADROOM_SLOPED_OPS(HEADROOM_DEFINE)
#undef HEADROOM_DEFINE

#define HEADROOM_SAMPLES(NAME, FUNCTOR) \
  OpSamples NAME##_samples() { return binary_samples(#NAME, NAME); }
HEADROOM_BINARY_OPS(HEADROOM_SAMPLES)
#undef HEADROOM_SAMPLES

}  // namespace headroom::autograd
