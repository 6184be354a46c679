#include "engine/ops/max/max.h"

#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"

namespace headroom::autograd {

Var max(const Var& x, const std::vector<int>& axes, bool keep_axes) {
  const auto [y, index] = engine::max(x.value(), axes, keep_axes);
  return record(
      "max", y, {x},
      [](const Tensor& dy, const Needs&, const Tensor& kept_index, const Shape& kept_shape,
         const std::vector<int>& kept_axes) -> std::vector<Tensor> {
        return {engine::max_grad(dy, kept_index, kept_shape, kept_axes)};
      },
      saved("index", index), x.shape(), axes);
}

OpSamples max_samples() {
  const auto over = [](const std::vector<int>& axes, bool keep) {
    return [axes, keep](const std::vector<Var>& in) { return max(in[0], axes, keep); };
  };
  OpSamples out;
  out.samples = {{"all", {normal("x", {3, 5, 7})}, over({}, false)},
                 {"last axis", {normal("x", {3, 5, 7})}, over({-1}, false)},
                 {"first axis, kept", {normal("x", {3, 5, 7})}, over({0}, true)},
                 {"outer axes", {normal("x", {3, 5, 2, 7})}, over({0, 2}, false)},
                 {"long rows", {normal("x", {2, 1031})}, over({1}, false)},
                 {"negative", {uniform("x", {4, 9}, -2, -1)}, over({1}, false)},
                 {"size-1", {normal("x", {1})}, over({}, false)},
                 {"scalar", {normal("x", {})}, over({}, false)},
                 {"empty", {normal("x", {0, 4})}, over({1}, false)}};
  out.refusals = {{"no elements", {normal("x", {4, 0})}, over({1}, false), {"max", "(4, 0)"}},
                  {"axis", {normal("x", {2, 3})}, over({2}, false), {"(2, 3)", "axis 2"}},
                  {"axis twice", {normal("x", {2, 3})}, over({1, -1}, false), {"max", "(2, 3)"}},
                  {"integers", {integers("x", {3}, 0, 5)}, over({}, false), {"max", "i64"}}};
  return out;
}

}  // namespace headroom::autograd
