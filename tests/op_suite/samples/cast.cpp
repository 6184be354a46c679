#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"
#include "engine/dispatch/operand.h"
#include "engine/error.h"

namespace headroom::autograd {

OpSamples cast_samples() {
  // What a loss does with its operands; f64 stays, for central differences. tests/autograd/cast.cpp has the
  // rest.
  const auto to_f32 = [](const std::vector<Var>& in) {
    return cast(in[0], engine::statistic_dtype(in[0].value().dtype()));
  };
  const auto there_and_back = [](const std::vector<Var>& in) {
    return cast(cast(in[0], engine::DType::f64) * 0.5, in[0].value().dtype());
  };
  OpSamples out;
  out.samples = {{"typical", {normal("x", {3, 5, 7})}, to_f32}, {"through f64", {normal("x", {2, 33})}, there_and_back},
                 {"long", {normal("x", {2, 1031})}, to_f32},    {"size-1", {normal("x", {1})}, there_and_back},
                 {"scalar", {normal("x", {})}, to_f32},         {"empty", {normal("x", {0, 4})}, there_and_back}};
  out.refusals = {{"integers", {integers("x", {3}, 0, 5)}, to_f32, {"cast", "i64 (3)", "f32"}},
                  {"to integers",
                   {normal("x", {3})},
                   [](const std::vector<Var>& in) { return cast(in[0], engine::DType::i32); },
                   {"cast", "f32 (3)", "i32"}}};
  out.value = out.gradient = {0};
  return out;
}

}  // namespace headroom::autograd
