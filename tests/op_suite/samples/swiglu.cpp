#include "engine/ops/swiglu/swiglu.h"
#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"

namespace headroom::autograd {

OpSamples swiglu_samples() {
  const auto run = [](const std::vector<Var>& in) { return swiglu(in[0], in[1]); };
  const auto twin = [](const std::vector<Var>& in) { return silu(in[0]) * in[1]; };
  const auto pair = [](Shape a, Shape b) { return std::vector<Input>{normal("gate", a), normal("up", b)}; };
  OpSamples out;
  out.samples = {{"typical", pair({3, 5, 7}, {3, 5, 7}), run, twin},
                 {"long", pair({2, 1031}, {2, 1031}), run, twin},
                 {"large gates", {uniform("gate", {33}, -200, 200), normal("up", {33})}, run, twin},
                 {"size-1", pair({1}, {1}), run, twin},
                 {"scalar", pair({}, {}), run, twin},
                 {"empty", pair({0, 4}, {0, 4}), run}};
  out.refusals = {{"shapes", pair({2, 3}, {3}), run, {"swiglu", "(2, 3)", "(3)"}},
                  {"integers", {integers("gate", {3}, 0, 5), normal("up", {3})}, run, {"swiglu", "i64"}}};
  out.value = {64}, out.gradient = {10, 1e-6};  // 43 on CUDA, whose silu(gate) is subnormal and then times up
  return out;
}

}  // namespace headroom::autograd
