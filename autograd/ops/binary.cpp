#include "engine/ops/elementwise/binary.h"

#include "autograd/ops.h"
#include "engine/ops/elementwise/unary.h"
#include "engine/ops/operators.h"

namespace headroom::autograd {

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
  }                                                                                                                   \
  Var NAME(const Var& a, double b) { return NAME(a, engine::scalar_like(#NAME, b, a.value())); }
HEADROOM_SLOPED_OPS(HEADROOM_DEFINE)
#undef HEADROOM_DEFINE

}  // namespace headroom::autograd
