#include "autograd/ops/sum_squares.h"
#include "autograd/op_suite/sample.h"

namespace headroom::autograd {

OpSamples sum_squares_samples() {
  const auto run = [](const std::vector<Var>& in) { return sum_squares(in[0]); };
  OpSamples out;
  out.samples = {{"typical", {normal("x", {3, 5, 7})}, run},    {"long rows", {normal("x", {3, 1031})}, run},
                 {"many rows", {normal("x", {1031, 19})}, run}, {"one axis", {normal("x", {33})}, run},
                 {"size-1", {normal("x", {1, 1})}, run},        {"empty", {normal("x", {0, 4})}, run},
                 {"empty rows", {normal("x", {4, 0})}, run}};
  out.value = {4, 1e-6}, out.gradient = {1};
  out.refusals = {{"scalar", {normal("x", {})}, run, {"sum_squares", "()"}},
                  {"integers", {integers("x", {3}, 0, 5)}, run, {"sum_squares", "i64"}}};
  return out;
}

}  // namespace headroom::autograd
