#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {

OpSamples mean_samples() {
  const auto over = [](const std::vector<int>& axes, bool keep) {
    return [axes, keep](const std::vector<Var>& in) { return mean(in[0], axes, keep); };
  };
  OpSamples out;
  out.samples = {{"all", {normal("x", {3, 5, 7})}, over({}, false)},
                 {"last axis", {normal("x", {3, 5, 7})}, over({-1}, false)},
                 {"outer axes, kept", {normal("x", {3, 5, 2, 7})}, over({0, 2}, true)},
                 {"size-1", {normal("x", {1})}, over({}, false)},
                 {"scalar", {normal("x", {})}, over({}, false)},
                 {"empty", {normal("x", {0, 4})}, over({1}, false)}};
  out.refusals = {{"no elements", {normal("x", {4, 0})}, over({1}, false), {"mean", "(4, 0)"}},
                  {"axis", {normal("x", {2, 3})}, over({2}, false), {"(2, 3)", "axis 2"}}};
  out.value = {4, 1e-6}, out.gradient = {2};
  return out;
}

}  // namespace headroom::autograd
