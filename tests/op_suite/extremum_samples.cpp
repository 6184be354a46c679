#include "tests/op_suite/extremum_samples.h"

namespace headroom::autograd {

OpSamples extremum_samples(const std::string& op, OverAxes f, bool has_gradient) {
  const auto over = [f](const std::vector<int>& axes, bool keep) {
    return [f, axes, keep](const std::vector<Var>& in) { return f(in[0], axes, keep); };
  };
  const auto x = [has_gradient](const Shape& shape) {
    return std::vector<Input>{has_gradient ? normal("x", shape) : fixed(normal("x", shape))};
  };
  const auto within = [has_gradient](const Shape& shape, double low, double high) {
    return std::vector<Input>{has_gradient ? uniform("x", shape, low, high) : fixed(uniform("x", shape, low, high))};
  };
  OpSamples out;
  out.samples = {{"all", x({3, 5, 7}), over({}, false)},
                 {"last axis", x({3, 5, 7}), over({-1}, false)},
                 {"first axis, kept", x({3, 5, 7}), over({0}, true)},
                 {"outer axes", x({3, 5, 2, 7}), over({0, 2}, false)},
                 {"long rows", x({2, 1031}), over({1}, false)},
                 {"negative", within({4, 9}, -2, -1), over({1}, false)},
                 {"positive", within({4, 9}, 1, 2), over({1}, false)},
                 {"size-1", x({1}), over({}, false)},
                 {"scalar", x({}), over({}, false)},
                 {"empty", x({0, 4}), over({1}, false)}};
  out.refusals = {{"no elements", x({4, 0}), over({1}, false), {op, "(4, 0)"}},
                  {"axis", x({2, 3}), over({2}, false), {op, "(2, 3)", "axis 2"}},
                  {"axis twice", x({2, 3}), over({1, -1}, false), {op, "(2, 3)"}},
                  {"integers", {integers("x", {3}, 0, 5)}, over({}, false), {op, "i64"}}};
  out.value = out.gradient = {0};
  return out;
}

}  // namespace headroom::autograd
