#include "engine/ops/sum/sum.h"
#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"

namespace headroom::autograd {

OpSamples sum_samples() {
  const auto over = [](const std::vector<int>& axes, bool keep) {
    return [axes, keep](const std::vector<Var>& in) { return sum(in[0], axes, keep); };
  };
  OpSamples out;
  out.samples = {{"all", {normal("x", {3, 5, 7})}, over({}, false)},
                 {"last axis", {normal("x", {3, 5, 7})}, over({-1}, false)},
                 {"first axis, kept", {normal("x", {3, 5, 7})}, over({0}, true)},
                 {"middle axis", {normal("x", {3, 5, 7})}, over({1}, false)},
                 {"outer axes", {normal("x", {3, 5, 2, 7})}, over({0, 2}, false)},
                 {"long rows", {normal("x", {2, 20011})}, over({1}, false)},
                 {"long columns", {normal("x", {1031, 19})}, over({0}, false)},
                 {"size-1", {normal("x", {1})}, over({}, false)},
                 {"empty", {normal("x", {0, 4})}, over({1}, false)},
                 {"empty axis", {normal("x", {4, 0})}, over({1}, false)}};
  out.refusals = {{"axis", {normal("x", {2, 3})}, over({2}, false), {"(2, 3)", "axis 2"}},
                  {"axis twice", {normal("x", {2, 3})}, over({1, -1}, false), {"sum", "(2, 3)"}}};
  out.value = {4, 2e-6}, out.gradient = {0};
  return out;
}

}  // namespace headroom::autograd
