#include "autograd/ops/softplus.h"
#include "autograd/op_suite/sample.h"

namespace headroom::autograd {

OpSamples softplus_samples() {
  const auto run = [](const std::vector<Var>& in) { return softplus(in[0]); };
  OpSamples out;
  out.samples = {{"typical", {normal("x", {3, 5, 7})}, run}, {"long", {uniform("x", {2, 1031}, -4, 4)}, run},
                 {"size-1", {normal("x", {1})}, run},        {"tail", {uniform("x", {3, 211}, -100, -10)}, run},
                 {"scalar", {normal("x", {})}, run},         {"empty", {normal("x", {0, 4})}, run}};
  for (Sample& sample : out.samples) sample.tolerances = elementwise(6, 6);
  out.refusals = {{"integers", {integers("x", {3}, 0, 5)}, run, {"softplus", "i64"}}};
  return out;
}

}  // namespace headroom::autograd
