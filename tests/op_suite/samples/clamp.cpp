#include <limits>

#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"
#include "engine/ops/clamp/clamp.h"

namespace headroom::autograd {

OpSamples clamp_samples() {
  const auto to = [](double low, double high) {
    return [=](const std::vector<Var>& in) { return clamp(in[0], low, high); };
  };
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  OpSamples out;
  out.samples = {{"typical", {normal("x", {3, 5, 7})}, to(-0.75, 0.5)},
                 {"long", {normal("x", {2, 1031})}, to(-1, 1)},
                 {"only from below", {normal("x", {3, 33})}, to(0.25, inf)},
                 {"only from above", {normal("x", {3, 33})}, to(-inf, 0.25)},
                 {"one value", {normal("x", {3, 5})}, to(0.5, 0.5)},
                 {"size-1", {normal("x", {1})}, to(-1, 1)},
                 {"scalar", {normal("x", {})}, to(-1, 1)},
                 {"empty", {normal("x", {0, 4})}, to(-1, 1)}};
  out.refusals = {{"bounds", {normal("x", {3})}, to(2, 1), {"clamp", "2 and 1"}},
                  {"not a number", {normal("x", {3})}, to(nan, 1), {"clamp", "nan"}},
                  {"integers", {integers("x", {3}, 0, 5)}, to(0, 1), {"clamp", "i64"}}};
  out.value = out.gradient = {0};
  return out;
}

}  // namespace headroom::autograd
