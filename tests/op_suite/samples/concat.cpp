#include "engine/ops/concat/concat.h"
#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"

namespace headroom::autograd {

OpSamples concat_samples() {
  const auto along = [](int axis) { return [axis](const std::vector<Var>& in) { return concat(in, axis); }; };
  const auto parts = [](const std::vector<Shape>& shapes) {
    std::vector<Input> inputs;
    for (const Shape& shape : shapes) inputs.push_back(normal("part " + std::to_string(inputs.size()), shape));
    return inputs;
  };
  OpSamples out;
  out.samples = {{"typical", parts({{3, 2, 5}, {3, 4, 5}}), along(1)},
                 {"last axis", parts({{3, 5}, {3, 1}, {3, 9}}), along(-1)},
                 {"first axis", parts({{2, 5}, {3, 5}}), along(0)},
                 {"one part", parts({{2, 3}}), along(1)},
                 {"size-1", parts({{1}, {1}}), along(0)},
                 {"one part is empty", parts({{2, 0}, {2, 3}}), along(1)},
                 {"empty", parts({{0, 3}, {0, 4}}), along(1)}};
  out.refusals = {{"other axes", parts({{2, 3}, {3, 3}}), along(1), {"concat", "(2, 3)", "(3, 3)", "part 1"}},
                  {"ranks", parts({{2, 3}, {3}}), along(0), {"concat", "(2, 3)", "(3)"}},
                  {"dtypes", {normal("a", {2}), integers("b", {2}, 0, 5)}, along(0), {"concat", "i64"}},
                  {"no axes", parts({{}, {}}), along(0), {"concat", "()"}},
                  {"no parts", {}, along(0), {"concat", "no parts"}}};
  out.value = {0}, out.gradient = {1};  // a part that is given twice has a rounded sum
  return out;
}

}  // namespace headroom::autograd
