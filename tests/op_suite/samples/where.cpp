#include "engine/ops/where/where.h"
#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"

namespace headroom::autograd {

OpSamples where_samples() {
  const auto run = [](const std::vector<Var>& in) { return where(in[0].value(), in[1], in[2]); };
  const auto inputs = [](Shape condition, Shape a, Shape b) {
    return std::vector<Input>{booleans("condition", condition, 0.4), normal("a", a), normal("b", b)};
  };
  OpSamples out;
  out.samples = {{"typical", inputs({3, 5, 7}, {3, 5, 7}, {3, 5, 7}), run},
                 {"long", inputs({2, 1031}, {2, 1031}, {2, 1031}), run},
                 {"broadcast condition", inputs({5, 1}, {3, 5, 7}, {3, 5, 7}), run},
                 {"broadcast operands", inputs({3, 5, 7}, {7}, {5, 1}), run},
                 {"wide condition", inputs({4, 9}, {9}, {1}), run},
                 {"two scalars", inputs({3, 5}, {}, {1}), run},
                 {"size-1", inputs({1}, {1}, {1}), run},
                 {"empty", inputs({0, 4}, {0, 4}, {1, 4}), run}};
  out.refusals = {{"operands", inputs({2, 3}, {2, 3}, {4}), run, {"where", "(2, 3)", "(4)"}},
                  {"condition", inputs({4}, {2, 3}, {2, 3}), run, {"where", "(2, 3)", "(4)"}},
                  {"not bool", {normal("condition", {3}), normal("a", {3}), normal("b", {3})}, run, {"where", "bool"}}};
  out.value = {0}, out.gradient = {4, 1e-6};
  return out;
}

}  // namespace headroom::autograd
