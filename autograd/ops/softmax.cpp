#include "engine/ops/softmax/softmax.h"

#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"

namespace headroom::autograd {

Var softmax(const Var& x) {
  const Tensor y = engine::softmax(x.value());
  return record("softmax", y, {x},
                [y](const Tensor& dy, const Needs&) -> std::vector<Tensor> { return {engine::softmax_grad(dy, y)}; });
}

OpSamples softmax_samples() {
  const auto run = [](const std::vector<Var>& in) { return softmax(in[0]); };
  const auto twin = [](const std::vector<Var>& in) {
    const Var e = exp(in[0]);
    return e / sum(e, {-1}, true);
  };
  OpSamples out;
  out.samples = {{"typical", {normal("x", {3, 5, 7})}, run, twin},
                 {"one vector", {normal("x", {3, 8})}, run, twin},
                 {"long rows", {normal("x", {3, 1031})}, run, twin},
                 {"many rows", {normal("x", {1031, 19})}, run, twin},
                 {"large values", {uniform("x", {4, 9}, -1e3, 1e3)}, run},
                 {"one axis", {normal("x", {33})}, run, twin},
                 {"size-1", {normal("x", {1, 1})}, run, twin},
                 {"empty", {normal("x", {0, 4})}, run},
                 {"empty rows", {normal("x", {4, 0})}, run}};
  out.refusals = {{"scalar", {normal("x", {})}, run, {"softmax", "()"}},
                  {"integers", {integers("x", {3}, 0, 5)}, run, {"softmax", "i64"}}};
  return out;
}

}  // namespace headroom::autograd
