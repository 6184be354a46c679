#include "engine/ops/dropout/dropout.h"
#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"

namespace headroom::autograd {

OpSamples dropout_samples() {
  const auto with = [](double p, uint64_t offset = 0) {
    const engine::RngKey key{0x123456789abcdef0u, 77, offset};
    return [p, key](const std::vector<Var>& in) { return dropout(in[0], p, key); };
  };
  OpSamples out;
  out.samples = {{"typical", {normal("x", {3, 5, 7})}, with(0.3)},
                 {"long", {normal("x", {2, 1031})}, with(0.1)},
                 {"several tasks", {normal("x", {35, 1031})}, with(0.5)},
                 {"later in the stream", {normal("x", {9, 33})}, with(0.5, (uint64_t{1} << 34) - 24)},
                 {"nothing dropped", {normal("x", {3, 5})}, with(0)},
                 {"nearly all dropped", {normal("x", {3, 5})}, with(0.99)},
                 {"size-1", {normal("x", {1})}, with(0.3)},
                 {"empty", {normal("x", {0, 4})}, with(0.3)}};
  const engine::Dropout third{0.3, {3, 5, 0}};
  const auto sum = [third](const std::vector<Var>& in) { return add_dropped(in[0], in[1], third); };
  const auto apart = [third](const std::vector<Var>& in) { return in[0] + dropout(in[1], third.p, third.key); };
  for (const Shape& shape : {Shape{3, 5, 7}, Shape{2, 1032}, Shape{0, 4}}) {
    out.samples.push_back({"added to another " + shape.str(), {normal("x", shape), normal("y", shape)}, sum, apart});
    out.samples.back().tolerances.value = {2, 1e-7};  // terms of both signs, each rounded
  }
  out.refusals = {{"p of one", {normal("x", {3})}, with(1), {"dropout", "p = 1"}},
                  {"negative p", {normal("x", {3})}, with(-0.1), {"dropout", "p = -0.1"}},
                  {"offset", {normal("x", {3})}, with(0.5, 2), {"dropout", "offset 2"}},
                  {"another shape", {normal("x", {3}), normal("y", {1})}, sum, {"(3)", "(1)"}},
                  {"integers", {integers("x", {3}, 0, 5)}, with(0.5), {"dropout", "i64"}}};
  out.value = out.gradient = {2};
  return out;
}

}  // namespace headroom::autograd
