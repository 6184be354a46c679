#include "engine/ops/elementwise/unary.h"

#include "autograd/ops.h"
#include "engine/ops/elementwise/activations.h"
#include "engine/ops/elementwise/math_functions.h"

namespace headroom::autograd {

#define HEADROOM_DEFINE(NAME, FUNCTOR)                                                                          \
  Var NAME(const Var& x) {                                                                                      \
    const Tensor y = engine::NAME(x.value());                                                                   \
    return record(                                                                                              \
        #NAME, y, {x},                                                                                          \
        [](const Tensor& dy, const Needs&, const Tensor& kept_x, const Tensor& kept_y) -> std::vector<Tensor> { \
          return {engine::NAME##_grad(dy, kept_x, kept_y)};                                                     \
        },                                                                                                      \
        saved("x", engine::FUNCTOR::reads_x ? x.value() : Tensor()),                                            \
        saved("y", engine::FUNCTOR::reads_y ? y : Tensor()));                                                   \
  }
HEADROOM_UNARY_OPS(HEADROOM_DEFINE)
#undef HEADROOM_DEFINE

}  // namespace headroom::autograd
