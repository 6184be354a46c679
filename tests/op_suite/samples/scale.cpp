#include "engine/ops/scale/scale.h"
#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"

namespace headroom::autograd {

OpSamples scale_samples() {
  const auto by = [](double factor) { return [factor](const std::vector<Var>& in) { return scale(in[0], factor); }; };
  OpSamples out;
  out.samples = {{"typical", {normal("x", {3, 5, 7})}, by(-0.375)},
                 {"long", {normal("x", {2, 1031})}, by(0.1)},
                 {"by zero", {normal("x", {3, 5})}, by(0)},
                 {"size-1", {normal("x", {1})}, by(2)},
                 {"scalar", {normal("x", {})}, by(2)},
                 {"empty", {normal("x", {0, 4})}, by(2)}};
  out.refusals = {{"integers", {integers("x", {3}, 0, 5)}, by(2), {"scale", "i64"}}};
  out.value = out.gradient = {1};
  return out;
}

}  // namespace headroom::autograd
