#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {

OpSamples stack_samples() {
  const auto along = [](int axis) { return [axis](const std::vector<Var>& in) { return stack(in, axis); }; };
  const auto parts = [](const std::vector<Shape>& shapes) {
    std::vector<Input> inputs;
    for (const Shape& shape : shapes) inputs.push_back(normal("part " + std::to_string(inputs.size()), shape));
    return inputs;
  };
  OpSamples out;
  out.samples = {{"typical", parts({{3, 5}, {3, 5}, {3, 5}}), along(0)},
                 {"middle axis", parts({{3, 5}, {3, 5}}), along(1)},
                 {"last axis", parts({{3, 5}, {3, 5}}), along(-1)},
                 {"scalars", parts({{}, {}, {}}), along(0)},
                 {"one part", parts({{2, 3}}), along(0)},
                 {"size-1", parts({{1}, {1}}), along(1)},
                 {"empty", parts({{0, 3}, {0, 3}}), along(1)}};
  out.refusals = {{"shapes", parts({{2, 3}, {3, 2}}), along(0), {"stack", "(2, 3)", "(3, 2)", "part 1"}},
                  {"dtypes", {normal("a", {2}), integers("b", {2}, 0, 5)}, along(0), {"stack", "i64"}},
                  {"axis", parts({{2}, {2}}), along(2), {"stack", "axis 2", "(2)"}},
                  {"no parts", {}, along(0), {"stack", "no parts"}}};
  out.value = {0}, out.gradient = {1};  // a part that is given twice has a rounded sum
  return out;
}

}  // namespace headroom::autograd
