#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {

OpSamples variance_samples() {
  const auto over = [](const std::vector<int>& axes, bool keep, int64_t correction) {
    return [=](const std::vector<Var>& in) { return variance(in[0], axes, keep, correction); };
  };
  OpSamples out;
  out.samples = {{"all", {normal("x", {3, 5, 7})}, over({}, false, 1)},
                 {"last axis", {normal("x", {3, 5, 7})}, over({-1}, false, 0)},
                 {"outer axes, kept", {normal("x", {3, 5, 2, 7})}, over({0, 2}, true, 1)},
                 {"far from zero", {uniform("x", {4, 33}, 100, 101)}, over({1}, false, 1)},
                 {"long rows", {normal("x", {2, 1031})}, over({1}, false, 1)},
                 {"size-1", {normal("x", {1})}, over({}, false, 0)},
                 {"empty", {normal("x", {0, 4})}, over({1}, false, 1)}};
  out.refusals = {{"one element", {normal("x", {3, 1})}, over({1}, false, 1), {"variance", "(3, 1)", "correction 1"}},
                  {"no elements", {normal("x", {4, 0})}, over({1}, false, 0), {"variance", "(4, 0)"}},
                  {"axis", {normal("x", {2, 3})}, over({2}, false, 1), {"(2, 3)", "axis 2"}}};
  out.value = out.gradient = {4, 1e-6};
  return out;
}

}  // namespace headroom::autograd
